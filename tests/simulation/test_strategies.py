from __future__ import annotations

import numpy as np
import pytest

from orchestrator.pinpoint.prior import STEADY, Prior
from orchestrator.search.choose import Goal
from orchestrator.simulation import Adaptive, Bisection, Exhaustive, Setting, World, draw

STEADILY = Adaptive(prior=Prior(noise=STEADY))


def world(*rows, **given):
    bad = np.array([[letter == "b" for letter in row] for row in rows])
    testable = np.array([[letter != "?" for letter in row] for row in rows])
    return World(bad=bad, testable=testable, **given)


def played(strategy, where, seed=0):
    return strategy.play(where, np.random.default_rng(seed))


def shown(states):
    return ["".join("gb"[int(state)] for state in row) for row in states]


def test_exhaustive_runs_every_cell_and_is_right_without_noise():
    found = played(Exhaustive(), world("ggbb", "gbgb"))
    assert (found.runs, shown(found.bad)) == (4, ["ggbb", "gbgb"])
    assert found.answered.all()


def test_majorities_beat_noise_and_cost_runs():
    where = world("g" * 20 + "b" * 20, false_fail=0.2, false_pass=0.2)
    once, often = played(Exhaustive(), where), played(Exhaustive(15), where)
    assert often.runs == 15 * once.runs
    assert (often.bad != where.bad).sum() < (once.bad != where.bad).sum()


def test_bisection_takes_the_logarithm_and_both_ends():
    found = played(Bisection(), world("g" * 20 + "b" * 13))
    assert (found.runs, shown(found.bad)) == (2 + 5, ["g" * 20 + "b" * 13])


def test_bisection_of_told_ends_does_not_run_them():
    assert played(Bisection(), world("g" * 20 + "b" * 13, told=True)).runs == 5


def test_bisection_sees_no_island():
    assert shown(played(Bisection(), world("gbbg")).bad) == ["gggg"]


def test_shared_cells_are_run_once():
    rows = ("g" * 9 + "b" * 8, "g" * 5 + "b" * 12)
    shared, alone = played(Bisection(), world(*rows)), played(Bisection(shared=False), world(*rows))
    assert shown(shared.bad) == shown(alone.bad) == list(rows)
    assert shared.runs < alone.runs == 12


def test_bisection_goes_round_what_tells_nothing():
    found = played(Bisection(), world("?gg??bbb?"))
    assert shown(found.bad)[0][1:3] + shown(found.bad)[0][5:8] == "ggbbb"
    assert not found.seen[0, [0, 3, 4, 8]].any()


def test_nothing_to_test_is_no_answer():
    where = world("????")
    for strategy in (Exhaustive(), Bisection()):
        assert not played(strategy, where).answered.any()


@pytest.mark.parametrize("seed", range(5))
def test_this_search_is_right_in_fewer_runs_than_all_cells(seed):
    where = draw(Setting(issues=4), np.random.default_rng(seed))
    found = played(STEADILY, where)
    assert found.answered.all()
    assert found.runs < 45
    right = (found.bad == where.bad).all(axis=1)
    assert right.sum() >= 3


def test_this_search_uses_what_it_is_told():
    where = world("g" * 20 + "b" * 13, told=True)
    found = played(Adaptive(prior=Prior(noise=STEADY, single=True)), where)
    assert (found.runs, shown(found.bad)) == (5, ["g" * 20 + "b" * 13])


def test_this_search_does_not_run_untestable_cells_again():
    where = world("gg????bb", "gg????bb")
    found = played(STEADILY, where)
    assert found.answered.all()
    assert found.runs <= 8
    assert not found.seen[:, 2:6].any()


def test_names_tell_strategies_apart():
    goal = Goal(confidence=0.9, confirm=2)
    names = [
        one.name
        for one in (Exhaustive(), Exhaustive(5), Bisection(), Bisection(3), Bisection(shared=False), STEADILY)
    ]
    assert len(set(names)) == len(names)
    assert Adaptive(goal=goal).name == "this search at 90%, confirmed 2 times"
