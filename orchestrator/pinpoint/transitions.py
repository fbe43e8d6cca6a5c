"""Verdicts along the versions of one series: where the state changes, and what it is now."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from orchestrator.model import Kind, Outcome, Point, State, Transition, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

_STATES = {Verdict.GOOD: State.OK, Verdict.BAD: State.AFFECTED, Verdict.UNKNOWN: State.UNKNOWN}


def ordered(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return points from the oldest version to the newest by PEP 440, local labels kept."""
    return tuple(sorted(points, key=attrgetter("version")))


def state(points: Sequence[Point]) -> State:
    """Return the state at the newest version whose verdict is known."""
    newest = newest_known(points)
    return State.UNKNOWN if newest is None else _STATES[newest.verdict]


def newest_known(points: Sequence[Point]) -> Point | None:
    """Return the point of the newest version whose verdict is known, if there is any."""
    known = (point for point in reversed(ordered(points)) if point.verdict is not Verdict.UNKNOWN)
    return next(known, None)


def transitions(points: Sequence[Point]) -> tuple[Transition, ...]:
    """Return every change of state, oldest first. A version of unknown verdict changes nothing.

    The first known verdict is a change only where it is bad: a version that is good from the start needs no
    explanation.
    """
    found: list[Transition] = []
    last: Point | None = None
    unknown: list[Point] = []
    for point in ordered(points):
        if point.verdict is Verdict.UNKNOWN:
            unknown.append(point)
            continue
        if last is None and point.verdict is Verdict.BAD:
            found.append(_first_bad(point, unknown))
        elif last is not None and last.verdict is not point.verdict:
            kind = Kind.INTRODUCED if point.verdict is Verdict.BAD else Kind.FIXED
            untested = tuple(p.version for p in unknown)
            found.append(Transition(kind=kind, after=last.version, version=point.version, untested=untested))
        last = point
        unknown = []
    return tuple(found)


def _first_bad(point: Point, earlier: Sequence[Point]) -> Transition:
    # Where the API is absent the issue cannot show, so such a version is no gap in what was tested.
    untested = tuple(p.version for p in earlier if p.outcome is not Outcome.ABSENT)
    return Transition(
        kind=Kind.INTRODUCED,
        after=None,
        version=point.version,
        untested=untested,
        since_api=bool(earlier) and not untested,
    )
