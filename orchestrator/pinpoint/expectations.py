"""Where the answer is not what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model import Finding, Series, State, Surprise
from orchestrator.pinpoint.transitions import newest_known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.model import Matrix


def unexpected(matrix: Matrix, series: Iterable[Series]) -> tuple[Finding, ...]:
    """Return the series whose state is known and is not the expected one.

    Of an issue without an expectation, that is one that was good before and is affected now.
    """
    found: list[Finding] = []
    for one in series:
        newest = newest_known(one.points)
        expected = matrix.issues[one.issue].expect
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


def _surprise(series: Series, expected: State | None) -> Surprise | None:
    if expected is not None:
        if series.state in (State.UNKNOWN, expected):
            return None
        return Surprise.AFFECTED if series.state is State.AFFECTED else Surprise.FIXED
    was_good = bool(series.transitions) and series.transitions[-1].after is not None
    return Surprise.REGRESSION if series.state is State.AFFECTED and was_good else None
