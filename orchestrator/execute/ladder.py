"""Wait for something to end, and make it end where it must: ask, insist, kill."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

Ladder = tuple[tuple[signal.Signals, float], ...]

LADDER: Ladder = (
    (signal.SIGINT, 10.0),  # pytest still writes its results
    (signal.SIGTERM, 5.0),
    (signal.SIGKILL, 20.0),
)
"""Signals, and the seconds each has to take effect."""


class Target(Protocol):
    """What can be waited for and signalled."""

    def ended(self, wait: float) -> bool:
        """Wait up to so many seconds; tell whether it has ended."""
        ...

    def send(self, number: signal.Signals) -> None:
        """Send a signal; having ended already is fine."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the wait was over. `survived` is true where not even the last signal helped."""

    deadline_passed: bool = False
    cancelled: bool = False
    survived: bool = False


def see_through(
    target: Target,
    *,
    deadline: float,
    cancel: Event,
    ladder: Ladder = LADDER,
    clock: Callable[[], float] = time.monotonic,
    tick: float = 0.2,
) -> Ending:
    """Wait until the target ends by itself; after `deadline` seconds or on `cancel` go down the ladder."""
    start = clock()
    while not target.ended(tick):
        if cancel.is_set():
            return Ending(cancelled=True, survived=not _descend(target, ladder, clock, tick))
        if clock() - start >= deadline:
            return Ending(deadline_passed=True, survived=not _descend(target, ladder, clock, tick))
    return Ending()


def _descend(
    target: Target,
    ladder: Ladder,
    clock: Callable[[], float],
    tick: float,
) -> bool:
    for number, grace in ladder:
        target.send(number)
        start = clock()
        while clock() - start < grace:
            if target.ended(tick):
                return True
    return False
