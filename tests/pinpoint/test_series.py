from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from builders import axis, issue, stack
from builders import matrix as built
from orchestrator.matrix import expand
from orchestrator.model import Judgement, Kind, Outcome, State, Verdict, VersionRange
from orchestrator.pinpoint import Measured, lines, series
from orchestrator.versions import SpecifierSet, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import Matrix, Series

GOOD = Judgement(outcome=Outcome.PASS, verdict=Verdict.GOOD)
CRASH = Judgement(outcome=Outcome.CRASH, verdict=Verdict.BAD, signature="SIGSEGV", metrics={"mae": 2.0})
WRONG = Judgement(outcome=Outcome.FAIL, verdict=Verdict.BAD, signature="ValueError: no")


def test_one_axis_gives_one_series_with_nothing_fixed(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    versions = ["1.10", "1.9", "1.2"]
    cells = [measured(letter, {"lib": version}) for letter, version in zip("gbb", versions, strict=True)]
    (found,) = series(matrix({"lib": versions}), cells)
    assert (found.issue, found.stack, found.axis, found.fixed) == ("i", "s", "lib", {})
    assert [str(point.version) for point in found.points] == ["1.2", "1.9", "1.10"]
    assert [(t.kind, str(t.version)) for t in found.transitions] == [("introduced", "1.2"), ("fixed", "1.10")]
    assert found.state is State.OK


def test_other_axes_are_fixed_in_each_series(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    others = ["2.9", "2.10"]
    cells = [
        measured("b" if other == "2.9" else "g", {"lib": version, "other": other}, python=python)
        for other in others
        for python in ("3.9", "3.10")
        for version in ("1", "2")
    ]
    found = series(matrix({"lib": ["1", "2"], "other": others}, python=("3.9", "3.10")), cells)
    assert [(one.fixed, one.state) for one in found] == [
        ({"python": "3.9", "other": "2.9"}, State.AFFECTED),
        ({"python": "3.9", "other": "2.10"}, State.OK),
        ({"python": "3.10", "other": "2.9"}, State.AFFECTED),
        ({"python": "3.10", "other": "2.10"}, State.OK),
    ]


@pytest.mark.parametrize("others", [["2.9", "2.10"], VersionRange(specifier=SpecifierSet(">=2"))])
def test_what_is_fixed_does_not_depend_on_the_selection(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured], others: list[str] | VersionRange
) -> None:
    (found,) = series(matrix({"lib": ["1"], "other": others}), [measured("g", {"lib": "1", "other": "2.9"})])
    assert found.fixed == {"other": "2.9"}


def test_an_axis_that_only_an_added_cell_moves_is_fixed_too(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    cells = [measured("g", {"lib": "1", "other": "2"}), measured("b", {"lib": "1", "other": "3"})]
    found = series(matrix({"lib": ["1"], "other": ["2"]}), cells)
    assert [one.fixed for one in found] == [{"other": "2"}, {"other": "3"}]


def test_an_axis_with_one_value_is_not_named(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    (found,) = series(matrix({"lib": ["1"], "other": ["2"]}), [measured("g", {"lib": "1", "other": "2"})])
    assert found.fixed == {}


def test_excluded_cells_are_no_points(matrix: Callable[..., Matrix], measured: Callable[..., Measured]) -> None:
    cells = [measured("g", {"lib": "1"}), measured("", {"lib": "2"}, excluded="too old")]
    (found,) = series(matrix({"lib": ["1", "2"]}), cells)
    assert [point.version for point in found.points] == [Version("1")]


def test_a_cell_without_a_judgement_was_not_run(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    cells = [measured("g", {"lib": "1"}), measured("", {"lib": "2"}), measured("b", {"lib": "3"})]
    (found,) = series(matrix({"lib": ["1", "2", "3"]}), cells)
    assert found.points[1].outcome is Outcome.NOT_RUN
    assert found.transitions[0].untested == (Version("2"),)


def test_an_issue_that_no_cell_was_asked_about_has_no_series(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    assert series(matrix({"lib": ["1"]}), [measured("", {"lib": "1"})]) == ()
    assert series(matrix({"lib": ["1"]}), []) == ()


@pytest.fixture
def along(matrix: Callable[..., Matrix], measured: Callable[..., Measured]) -> Callable[..., Series]:
    """Return the series of versions 1.0, 1.1, … with so many runs in each: g is good, b wrong and c a crash."""
    judgements = {"g": GOOD, "b": WRONG, "c": CRASH}

    def make(*cells: str) -> Series:
        names = [f"1.{minor}" for minor in range(len(cells))]
        row = [
            replace(
                measured(letters[-1:].replace("c", "b"), {"lib": version}),
                runs={"i": tuple(judgements[one] for one in letters)} if letters else {},
            )
            for version, letters in zip(names, cells, strict=True)
        ]
        (found,) = series(matrix({"lib": names}), row)
        return found

    return make


def test_where_runs_disagree_the_point_takes_what_the_whole_series_says(along: Callable[..., Series]) -> None:
    found = along("ggg", "ggg", "gggb", "ggg", "ccc", "ccc", "cccg", "ccc")
    assert [point.verdict for point in found.points] == [Verdict.GOOD] * 4 + [Verdict.BAD] * 4
    flake, lucky = found.points[2], found.points[6]
    assert (flake.outcome, flake.signature, flake.bad, flake.good) == (Outcome.PASS, None, 1, 3)
    assert (lucky.outcome, lucky.signature, lucky.bad, lucky.good) == (Outcome.CRASH, "SIGSEGV", 3, 1)
    assert lucky.metrics == {"mae": 2.0}
    assert [(one.kind, one.after, one.version) for one in found.transitions] == [
        (Kind.INTRODUCED, Version("1.3"), Version("1.4"))
    ]


def test_of_several_runs_of_that_verdict_the_newest_is_shown(along: Callable[..., Series]) -> None:
    found = along("ggg", "ggg", "cccbg", "bbb", "bbb")
    assert found.points[2].signature == "ValueError: no"


def test_a_single_run_is_shown_as_it_is_however_odd(along: Callable[..., Series]) -> None:
    found = along("gggg", "gggg", "b", "gggg", "gggg")
    assert (found.points[2].verdict, found.points[2].bad, found.points[2].good) == (Verdict.BAD, 1, 0)


def test_what_was_not_run_has_no_runs(along: Callable[..., Series]) -> None:
    found = along("g", "", "b")
    assert [(point.bad, point.good) for point in found.points] == [(0, 1), (0, 0), (1, 0)]


def test_the_confidence_of_a_transition_is_a_probability_that_repeats_raise(along: Callable[..., Series]) -> None:
    def confidence(*cells: str) -> float:
        (only,) = along(*cells).transitions
        return only.confidence

    once, again = confidence("g", "g", "b", "b"), confidence("g", "gg", "bb", "b")
    assert 0.5 < once < again <= 1.0
    # Where the place is not known, that it lies somewhere in there counts.
    assert 0.5 < confidence("g", "", "", "b") <= 1.0


def test_a_state_since_the_earliest_version_has_the_confidence_of_that_version(
    along: Callable[..., Series],
) -> None:
    (once,), (again,) = along("b", "b").transitions, along("bbb", "b").transitions
    assert once.after is again.after is None
    assert 0.5 < once.confidence < again.confidence <= 1.0


def test_belief_is_there_where_anything_is_known(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured], along: Callable[..., Series]
) -> None:
    (found,) = series(matrix({"lib": ["1"]}), [measured("d", {"lib": "1"})])
    assert found.belief is None
    known = along("g", "gb", "b").belief
    assert known is not None
    assert (known.runs, known.flaky) == (4, True)


def two_stacks() -> tuple[Matrix, list[Measured]]:
    made = built(
        stack("a", axis("lib", "1.10", "1.9"), axis("other", "1", "2")),
        stack("b", axis("lib", "1.10", "1.9")),
        issues=(
            issue("first", {"b": "lib", "a": "lib"}),
            issue("second", {"a": "other"}),
            issue("never", {"b": "lib"}),
        ),
    )
    asked = {"a": ("first", "second"), "b": ("first",)}
    cells = [Measured(cell=cell, judgements=dict.fromkeys(asked[cell.stack], GOOD)) for cell in expand(made)]
    return made, cells[::-1]


def test_series_are_in_the_order_of_the_matrix_and_an_issue_in_that_of_its_stacks() -> None:
    found = [(one.issue, one.stack, dict(one.fixed)) for one in series(*two_stacks())]
    assert found == [
        ("first", "b", {}),
        ("first", "a", {"other": "1"}),
        ("first", "a", {"other": "2"}),
        ("second", "a", {"lib": "1.9"}),
        ("second", "a", {"lib": "1.10"}),
    ]


def test_lines_hold_the_cells_by_version_and_the_issues_that_were_asked_about() -> None:
    found = lines(*two_stacks())
    assert [(one.stack, one.axis, dict(one.fixed), one.issues) for one in found] == [
        ("b", "lib", {}, ("first",)),
        ("a", "lib", {"other": "1"}, ("first",)),
        ("a", "lib", {"other": "2"}, ("first",)),
        ("a", "other", {"lib": "1.9"}, ("second",)),
        ("a", "other", {"lib": "1.10"}, ("second",)),
    ]
    assert [str(version) for version in found[0].versions] == ["1.9", "1.10"]
    assert [one.cell.versions["other"] for one in found[1].cells] == [Version("1")] * 2


def test_issues_along_the_same_axis_share_a_line(measured: Callable[..., Measured]) -> None:
    made = built(stack("s", axis("lib", "1", "2")), issues=(issue("i", {"s": "lib"}), issue("j", {"s": "lib"})))
    cells = [replace(measured("", {"lib": v}), judgements={"j": GOOD, "i": WRONG}) for v in ("2", "1")]
    excluded = measured("", {"lib": "3"}, excluded="too new")
    (line,) = lines(made, [*cells, excluded])
    assert line.issues == ("i", "j")
    assert [str(version) for version in line.versions] == ["1", "2"]
