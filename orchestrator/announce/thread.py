"""An issue on GitHub that is kept by this program."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.announce.marker import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """One issue of the repository, open or closed."""

    number: int
    open: bool
    body: str
    told: Told
