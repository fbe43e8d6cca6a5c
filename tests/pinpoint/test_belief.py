"""What is believed of a row of cells, whatever the constants of the prior are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from orchestrator.model import Judgement, Outcome
from orchestrator.pinpoint import Measured
from orchestrator.pinpoint.belief import Believed, believe, counts
from orchestrator.pinpoint.certificate import hidden
from orchestrator.pinpoint.prior import STEADY, Noise, Prior, shares
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Callable

SURE = Prior(noise=STEADY, expected=(1.0,))
SHAKY = Prior(noise=(Noise(false_fail=0.1, false_pass=0.1),), expected=(1.0,))
OUTCOMES = {
    "g": Outcome.PASS,
    "b": Outcome.FAIL,
    "n": Outcome.NOT_RUN,
    "u": Outcome.UNRESOLVABLE,
    "a": Outcome.ABSENT,
    "e": Outcome.ERROR,
}


@pytest.fixture
def row(measured: Callable[..., Measured]) -> Callable[..., tuple[Measured, ...]]:
    """Make cells 1.0, 1.1, … of package `lib`, given the letters of the runs of each issue in each of them."""

    def cell(minor: int, runs: dict[str, str]) -> Measured:
        made = {
            issue: tuple(Judgement(outcome=OUTCOMES[one], verdict=OUTCOMES[one].verdict) for one in letters)
            for issue, letters in runs.items()
            if letters
        }
        return Measured(
            cell=measured("", {"lib": f"1.{minor}"}).cell,
            judgements={issue: judged[-1] for issue, judged in made.items()},
            runs=made,
        )

    def make(*cells: str, **others: tuple[str, ...]) -> tuple[Measured, ...]:
        issues = {"i": cells, **others}
        return tuple(
            cell(minor, {issue: runs[minor] for issue, runs in issues.items()}) for minor in range(len(cells))
        )

    return make


def versions(row: tuple[Measured, ...]) -> tuple[Version, ...]:
    return tuple(Version(f"1.{minor}") for minor in range(len(row)))


def believed(row: tuple[Measured, ...], prior: Prior) -> Believed:
    return believe(("i",), versions(row), row, prior)["i"]


def test_every_run_is_counted(row: Callable[..., tuple[Measured, ...]]) -> None:
    seen = counts(("i", "j"), row("g", "bbg", "", j=("b", "", "gg")))
    assert seen.bad.tolist() == [[0, 2, 0], [1, 0, 0]]
    assert seen.good.tolist() == [[1, 1, 0], [0, 0, 2]]
    assert seen.testable.all()


def test_what_was_not_run_can_still_be_tested_and_other_unknowns_cannot(
    row: Callable[..., tuple[Measured, ...]],
) -> None:
    seen = counts(("i",), row("n", "u", "a", "e", "", "eg", "ge"))
    assert seen.testable.tolist() == [[True, False, False, False, True, True, True]]
    assert seen.good.tolist() == [[0, 0, 0, 0, 0, 1, 1]]


def test_a_single_judgement_without_a_list_of_runs_is_one_run(measured: Callable[..., Measured]) -> None:
    seen = counts(("i",), [measured("b", {"lib": "1.0"}), measured("d", {"lib": "1.1"})])
    assert (seen.bad.tolist(), seen.testable.tolist()) == ([[1, 0]], [[True, False]])


def test_of_an_issue_without_any_run_nothing_is_believed(row: Callable[..., tuple[Measured, ...]]) -> None:
    cells = row("n", "u", "", j=("", "b", ""))
    assert list(believe(("i", "j"), versions(cells), cells)) == ["j"]


def test_what_was_seen_everywhere_by_a_probe_that_never_lies_is_known(
    row: Callable[..., tuple[Measured, ...]],
) -> None:
    found = believed(row("g", "g", "b", "b", "g"), SURE)
    assert found.belief.probability == pytest.approx(1.0, abs=1e-3)
    assert (found.belief.runs, found.belief.flaky, found.belief.gap, found.belief.hidden) == (5, False, None, 0.0)
    assert found.bad.tolist() == [False, False, True, True, False]
    assert found.chance == pytest.approx([0, 0, 1, 1, 0], abs=1e-3)
    assert [found.changed(v, v + 1, bad=bool(found.bad[v + 1])) for v in range(4)] == pytest.approx(
        [0, 1, 0, 1], abs=1e-3
    )


def test_what_was_not_run_leaves_doubt_and_what_cannot_be_tested_leaves_none(
    row: Callable[..., tuple[Measured, ...]],
) -> None:
    def probability(letter: str) -> float:
        return believed(row("g", letter, "b", "b"), SURE).belief.probability

    assert probability("n") == pytest.approx(0.5, abs=0.01)
    assert probability("u") == pytest.approx(1.0, abs=1e-3)


def test_gaps_lie_between_known_versions_of_one_state(row: Callable[..., tuple[Measured, ...]]) -> None:
    cells = row("g", "", "", "g", "", "", "", "", "g", "", "b", "", "b")
    steps = shares(versions(cells))
    belief = believed(cells, SURE).belief
    each = [
        hidden(steps[0:3], 1.0, 1.0, bad=False),
        hidden(steps[3:8], 1.0, 1.0, bad=False),
        hidden(steps[10:12], 1.0, 1.0, bad=True),
    ]
    assert belief.gap is not None
    assert (str(belief.gap.after), str(belief.gap.before), belief.gap.untested) == ("1.3", "1.8", 4)
    assert belief.gap.hidden == pytest.approx(each[1], rel=1e-6)
    assert belief.hidden == pytest.approx(1 - np.prod([1 - one for one in each]), rel=1e-6)


def test_of_gaps_of_one_length_the_one_that_hides_more_is_told(
    row: Callable[..., tuple[Measured, ...]],
) -> None:
    cells = row("g", "", "g", "", "g")
    order = tuple(map(Version, ("1.0.0", "1.0.1", "1.0.2", "2.0.0", "3.0.0")))
    belief = believe(("i",), order, cells, SURE)["i"].belief
    assert belief.gap is not None
    assert (str(belief.gap.after), str(belief.gap.before)) == ("1.0.2", "3.0.0")


def test_what_lies_outside_the_known_versions_is_no_gap(row: Callable[..., tuple[Measured, ...]]) -> None:
    belief = believed(row("", "", "g", "g", "", ""), SURE).belief
    assert (belief.gap, belief.hidden) == (None, 0.0)


def test_runs_of_one_version_that_disagree_are_flaky(row: Callable[..., tuple[Measured, ...]]) -> None:
    assert believed(row("g", "gb", "g"), SHAKY).belief.flaky
    assert not believed(row("g", "b", "g"), SHAKY).belief.flaky
    assert not believed(row("gg", "bb", "bb"), SHAKY).belief.flaky


@pytest.mark.parametrize("prior", [SHAKY, Prior()])
def test_a_lone_contrary_run_lowers_confidence_and_repeats_raise_it(
    row: Callable[..., tuple[Measured, ...]], prior: Prior
) -> None:
    def probability(middle: str) -> float:
        return believed(row("g", "g", "g", middle, "g", "g", "g"), prior).belief.probability

    assert probability("b") < probability("bg") < probability("bgggg")
    assert probability("b") < probability("bbbb")
    assert probability("b") < probability("g") < probability("gg")


@pytest.mark.parametrize("prior", [SHAKY, Prior()])
def test_repeats_of_both_sides_raise_the_confidence_in_a_change(
    row: Callable[..., tuple[Measured, ...]], prior: Prior
) -> None:
    once = believed(row("g", "g", "b", "b"), prior)
    again = believed(row("g", "gg", "bb", "b"), prior)
    assert again.changed(1, 2, bad=True) > once.changed(1, 2, bad=True)
    assert again.belief.probability > once.belief.probability


def test_rates_are_learnt_from_runs_that_disagree(row: Callable[..., tuple[Measured, ...]]) -> None:
    calm = believed(row(*["gg"] * 6), Prior()).belief
    shaky = believed(row("gg", "gb", "gg", "bg", "ggb", "gg"), Prior()).belief
    assert shaky.false_fail > calm.false_fail
    assert all(0 <= rate <= 1 for rate in (shaky.false_fail, shaky.false_pass, calm.false_fail, calm.false_pass))


def test_nothing_is_a_probability_above_one(row: Callable[..., tuple[Measured, ...]]) -> None:
    found = believed(row(*["g" * 9] * 12), Prior())
    assert 0.5 < found.belief.probability <= 1.0
