"""Where the answer is not what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model import Finding, Series, State, Surprise
from orchestrator.pinpoint.transitions import newest_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orchestrator.model import Cell, Matrix
    from orchestrator.versions import Version


def ends(cells: Iterable[Cell]) -> dict[tuple[str, str], Version]:
    """Return the newest version of every axis, by (stack, axis): where a series has to reach to be judged."""
    newest: dict[tuple[str, str], Version] = {}
    for cell in cells:
        for axis, version in cell.versions.items() if cell.excluded is None else ():
            newest[cell.stack, axis] = max(version, newest.get((cell.stack, axis), version))
    return newest


def unexpected(
    matrix: Matrix, series: Iterable[Series], newest_of: Mapping[tuple[str, str], Version] | None = None
) -> tuple[Finding, ...]:
    """Return the series whose state is known and is not the expected one.

    Of an issue without an expectation, that is one that was good before and is affected now. An expectation is
    about the newest version of the axis (`newest_of`, see `ends`): a series that was cut short by a selection
    does not meet it nor break it.
    """
    found: list[Finding] = []
    for one in series:
        newest = newest_known(one.points)
        expected = matrix.issues[one.issue].expect if _whole(one, newest_of or {}) else None
        kind = _surprise(one, expected)
        if newest is None or kind is None:
            continue
        last = one.transitions[-1] if one.transitions else None
        found.append(
            Finding(
                kind=kind,
                issue=one.issue,
                stack=one.stack,
                axis=one.axis,
                fixed=one.fixed,
                state=one.state,
                expected=expected,
                version=newest.version,
                since=last.version if last is not None and last.after is not None else None,
            )
        )
    return tuple(found)


def _whole(series: Series, newest_of: Mapping[tuple[str, str], Version]) -> bool:
    end = newest_of.get((series.stack, series.axis))
    return end is None or series.points[-1].version >= end


def _surprise(series: Series, expected: State | None) -> Surprise | None:
    if expected is not None:
        if series.state in (State.UNKNOWN, expected):
            return None
        return Surprise.AFFECTED if series.state is State.AFFECTED else Surprise.FIXED
    was_good = bool(series.transitions) and series.transitions[-1].after is not None
    return Surprise.REGRESSION if series.state is State.AFFECTED and was_good else None
