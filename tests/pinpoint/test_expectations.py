from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.model import State
from orchestrator.pinpoint import ends, series, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import Matrix
    from orchestrator.pinpoint import Measured


def findings(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured], letters: str, expect: State | None
) -> list[tuple[str, str, str | None]]:
    versions = [str(number + 1) for number in range(len(letters))]
    made = matrix({"lib": versions}, expect=expect)
    cells = [measured(letter, {"lib": version}) for letter, version in zip(letters, versions, strict=True)]
    found = unexpected(made, series(made, cells))
    return [(f.kind.value, str(f.version), str(f.since) if f.since else None) for f in found]


@pytest.mark.parametrize(
    ("letters", "expect", "expected"),
    [
        ("bg", State.OK, []),
        ("gb", State.OK, [("unexpectedly-affected", "2", "2")]),
        ("bb?", State.OK, [("unexpectedly-affected", "2", None)]),
        ("gb", State.AFFECTED, []),
        ("gbg?", State.AFFECTED, [("unexpectedly-fixed", "3", "3")]),
        ("gg", State.AFFECTED, [("unexpectedly-fixed", "2", None)]),
        ("dd", State.OK, []),
        ("??", State.AFFECTED, []),
        ("gbb?", None, [("regression", "3", "2")]),
        ("bgb", None, [("regression", "3", "3")]),
        ("bb", None, []),
        ("gbg", None, []),
        ("gg", None, []),
        ("?", None, []),
    ],
)
def test_what_is_unexpected(
    matrix: Callable[..., Matrix],
    measured: Callable[..., Measured],
    letters: str,
    expect: State | None,
    expected: list[tuple[str, str, str | None]],
) -> None:
    assert findings(matrix, measured, letters, expect) == expected


def test_a_series_that_a_selection_cut_short_is_not_held_to_what_is_expected_of_its_end(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    made = matrix({"lib": ["1", "2"]}, expect=State.OK)
    first, second = measured("b", {"lib": "1"}), measured("g", {"lib": "2"})
    everything = ends([first.cell, second.cell])
    assert unexpected(made, series(made, [first]), everything) == ()
    assert len(unexpected(made, series(made, [first]))) == 1
    assert len(unexpected(made, series(made, [measured("b", {"lib": "2"})]), everything)) == 1
