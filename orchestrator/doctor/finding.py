"""What an examination of a host found, and what it comes to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

RuntimeName = Literal["docker", "venv"]

BOTH: tuple[RuntimeName, ...] = ("docker", "venv")


class Level(StrEnum):
    """How much something matters: a problem can be lived with, a blocker leaves no way to run."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"
    BLOCKER = "blocker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check says: an id that stays the same, one line, more of it, and what to do in one line."""

    id: str
    level: Level
    summary: str
    detail: str = ""
    hint: str | None = None
    stops: tuple[RuntimeName, ...] = ()
    """The runtimes that cannot work because of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All findings, in the order of the areas, and which of the runtimes that were asked for can work."""

    findings: tuple[Finding, ...]
    runtimes: dict[RuntimeName, bool]

    @property
    def usable(self) -> bool:
        """Tell whether a run could work."""
        return any(self.runtimes.values())


def conclude(findings: Iterable[Finding], asked: Iterable[RuntimeName]) -> Examination:
    """Weigh findings: what stops a runtime is a blocker where no runtime that was asked for is left."""
    found = tuple(findings)
    stopped = {name for one in found for name in one.stops}
    runtimes = {name: name not in stopped for name in asked}
    usable = any(runtimes.values())
    return Examination(
        findings=tuple(
            replace(one, level=Level.BLOCKER) if not usable and set(one.stops) & runtimes.keys() else one
            for one in found
        ),
        runtimes=runtimes,
    )
