from __future__ import annotations

import numpy as np
import pytest

from orchestrator.simulation import (
    Adaptive,
    Bisection,
    Exhaustive,
    Played,
    Setting,
    World,
    play,
    replay,
    score,
    summary,
    wilson,
)


def states(*rows):
    return np.array([[letter == "b" for letter in row] for row in rows])


def scored(truth, answer, seen, *, answered=True):
    testable = np.array([[letter != "?" for letter in truth]])
    world = World(bad=states(truth), testable=testable)
    marks = np.array([[letter == "x" for letter in seen]])
    return score(world, Played(bad=states(answer), answered=np.array([answered]), seen=marks, runs=3))


def test_an_answer_is_right_where_all_that_can_be_tested_is():
    assert scored("ggbb", "ggbb", "xxxx").right == (True,)
    assert scored("ggbb", "gbbb", "xxxx").right == (False,)
    assert scored("g?bb", "gbbb", "x.xx").right == (True,)


@pytest.mark.parametrize(
    ("answer", "seen", "counts"),
    [
        ("ggbb", "xxxx", (1, 0, 0, 0)),
        ("gbbb", "xxxx", (1, 1, 0, 0)),
        ("ggbb", "x..x", (0, 0, 1, 0)),
        ("bbgg", "x..x", (0, 0, 1, 1)),
        ("gggg", "xxxx", (0, 0, 0, 0)),
        ("ggbb", ".xx.", (1, 0, 0, 0)),
    ],
)
def test_transitions_are_exact_between_neighbours_that_were_run(answer, seen, counts):
    found = scored("ggbb", answer, seen)
    assert (found.exact, found.exact_wrong, found.intervals, found.intervals_wrong) == counts


def test_an_abstention_claims_no_transition():
    assert scored("ggbb", "gbbb", "xxxx", answered=False).exact == 0


def test_the_wilson_interval_is_that_of_the_literature():
    # Newcombe (1998), table I: 81/263, 15/148, 0/20, 1/29.
    for hits, trials, interval in (
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ):
        assert wilson(hits, trials) == pytest.approx(interval, abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_summary_counts_answers_apart_from_abstentions():
    scores = [scored("ggbb", "ggbb", "xxxx"), scored("ggbb", "gbbb", "xxxx", answered=False)]
    found = summary(Adaptive(), scores)
    assert (found.accuracy, found.calibration, found.abstained) == (0.5, 1.0, 0.5)
    assert (found.trials, found.issues, found.runs) == (2, 2, 3.0)
    assert summary(Exhaustive(), scores).calibration is None
    assert summary(Adaptive(), scores[1:]).calibration is None


def test_strategies_meet_the_same_histories():
    setting = Setting(versions=12, issues=3)
    (all_right,) = play(Exhaustive(), setting, [4])
    assert all(all_right.right)
    assert play(Bisection(), setting, range(5)) == play(Bisection(), setting, range(5))


def test_a_replay_sums_up_all_worlds():
    worlds = [
        World(bad=states("ggbb", "gggb"), testable=np.ones((2, 4), dtype=bool)),
        World(bad=states("gb"), testable=np.ones((1, 2), dtype=bool)),
    ]
    (found,) = replay(Exhaustive(), worlds, [0])
    assert (found.runs, found.right, found.exact) == (6, (True, True, True), 3)
