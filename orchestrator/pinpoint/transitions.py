"""Verdicts along the versions of one series: where the state changes, and what it is now."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from orchestrator.model import Kind, Outcome, Point, State, Transition, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

_GOOD, _BAD, _UNKNOWN = Verdict.GOOD, Verdict.BAD, Verdict.UNKNOWN
_STATES = {_GOOD: State.OK, _BAD: State.AFFECTED, _UNKNOWN: State.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of state by the places of its versions among the points; `Transition` says what the fields are."""

    kind: Kind
    after: int | None
    version: int
    untested: tuple[int, ...] = ()
    since_api: bool = False


def ordered(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return points from the oldest version to the newest by PEP 440, local labels kept."""
    return tuple(sorted(points, key=attrgetter("version")))


def state(points: Sequence[Point]) -> State:
    """Return the state at the newest version whose verdict is known."""
    return end_state(ordered(points))


def end_state(points: Sequence[Point]) -> State:
    """Return the state at the last point whose verdict is known."""
    newest = newest_known(points)
    return State.UNKNOWN if newest is None else _STATES[newest.verdict]


def newest_known(points: Sequence[Point]) -> Point | None:
    """Return the last point whose verdict is known, if there is any: of a series, that of the newest version."""
    return next((point for point in reversed(points) if point.verdict is not _UNKNOWN), None)


def transitions(points: Sequence[Point]) -> tuple[Transition, ...]:
    """Return every change of state, oldest first. A version of unknown verdict changes nothing.

    The first known verdict is a change only where it is bad: a version that is good from the start needs no
    explanation.
    """
    points = ordered(points)
    return tuple(
        Transition(
            kind=turn.kind,
            after=None if turn.after is None else points[turn.after].version,
            version=points[turn.version].version,
            untested=tuple(points[at].version for at in turn.untested),
            since_api=turn.since_api,
        )
        for turn in turns(points)
    )


def turns(points: Sequence[Point]) -> list[Turn]:
    """Return every change of state along points that come the oldest first."""
    found: list[Turn] = []
    last: int | None = None
    state = _UNKNOWN
    for at, point in enumerate(points):
        verdict = point.verdict
        if verdict is _UNKNOWN:
            continue
        if verdict is not state:
            if last is not None:
                kind = Kind.INTRODUCED if verdict is _BAD else Kind.FIXED
                found.append(Turn(kind, last, at, tuple(range(last + 1, at))))
            elif verdict is _BAD:
                found.append(_first_bad(points, at))
            state = verdict
        last = at
    return found


def _first_bad(points: Sequence[Point], at: int) -> Turn:
    # Where the API is absent the issue cannot show, so such a version is no gap in what was tested.
    untested = tuple(earlier for earlier in range(at) if points[earlier].outcome is not Outcome.ABSENT)
    return Turn(Kind.INTRODUCED, None, at, untested, since_api=at > 0 and not untested)
