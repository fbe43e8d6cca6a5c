from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.pinpoint import collapse, series

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import Matrix
    from orchestrator.pinpoint import Measured


def groups(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured], rows: dict[str, str]
) -> list[list[str]]:
    """Return which Pythons are together, by their verdicts of versions 1, 2 and so on."""
    versions = [str(number + 1) for number in range(max(map(len, rows.values())))]
    cells = [
        measured(letter, {"lib": version}, python=python, locked={"lib": version, "abi": python})
        for python, letters in rows.items()
        for version, letter in zip(versions, letters, strict=False)
    ]
    found = series(matrix({"lib": versions}, python=tuple(rows)), cells)
    return [[one.fixed["python"] for one in group.series] for group in collapse(found)]


def test_equal_series_are_one_group_in_the_order_of_their_first(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    rows = {"3.10": "gb", "3.11": "gg", "3.12": "gb"}
    assert groups(matrix, measured, rows) == [["3.10", "3.12"], ["3.11"]]


def test_an_unknown_version_keeps_series_apart(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    assert groups(matrix, measured, {"3.10": "gg?", "3.11": "ggg"}) == [["3.10"], ["3.11"]]


def test_the_kind_of_unknown_keeps_series_apart(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    assert groups(matrix, measured, {"3.10": "g?", "3.11": "gd"}) == [["3.10"], ["3.11"]]


def test_a_version_more_keeps_series_apart(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    assert groups(matrix, measured, {"3.10": "gg", "3.11": "g"}) == [["3.10"], ["3.11"]]
