"""Series and transitions: the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.model.matrix import State
from orchestrator.model.outcomes import Outcome, Verdict
from orchestrator.versions import Version


class Kind(StrEnum):
    """Which way a transition goes."""

    INTRODUCED = "introduced"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One version of a series: what the issue's probes came to there."""

    version: Version
    cell: str
    outcome: Outcome
    verdict: Verdict
    signature: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A distribution that differs between two cells; None where it is not installed."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of state, between `after` (last version in the old state) and `version` (first in the new)."""

    kind: Kind
    after: Version | None
    """None where no version in the old state was seen."""
    version: Version
    untested: tuple[Version, ...] = ()
    confidence: float = 1.0
    since_api: bool = False
    """True where every version before `version` lacks the API: the issue is as old as the API."""
    compare: str | None = None
    culprit: tuple[str, ...] = ()
    """Packages under test that differ between the two cells; more than one cannot be told apart here."""
    moved: tuple[Moved, ...] = ()
    """What else differs between the two cells' locks."""
    git_versions: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The verdicts of one issue along one axis, everything else fixed by the stack's rules."""

    issue: str
    stack: str
    axis: str
    fixed: Mapping[str, str]
    points: tuple[Point, ...]
    transitions: tuple[Transition, ...]
    state: State
