from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.model import Outcome, State, VersionRange
from orchestrator.pinpoint import series
from orchestrator.versions import SpecifierSet, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import Matrix
    from orchestrator.pinpoint import Measured


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
