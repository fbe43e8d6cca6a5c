"""What a plot shows, as values: nothing here knows how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.model import Kind, Outcome, Transition, Verdict
from orchestrator.versions import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One version of a line: the number that was recorded there, and what the version came to."""

    version: Version
    value: float | None
    """None where nothing was recorded; may be infinite or not a number."""
    also: tuple[float, ...] = ()
    """Other numbers that series which the line stands for recorded here."""
    outcome: Outcome
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series, or several that say the same: all its versions, the oldest first."""

    label: str
    """Values of the other axes, as "python 3.11"; empty where there are none."""
    samples: tuple[Sample, ...]
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Where the state of some lines changes, between `after` (None: no older state was seen) and `version`."""

    kind: Kind
    after: Version | None
    version: Version
    untested: tuple[Version, ...] = ()
    since_api: bool = False
    lines: tuple[int, ...]
    """Places of the lines that it is true of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One metric of one issue along one axis of one stack."""

    issue: str
    topic: str
    """The issue's title."""
    metric: str
    stack: str
    axis: str
    where: str
    """Stack and axis, and what else is true of the only line: "torch-cpu / torch, python 3.11"."""
    title: str
    alt: str
    """One sentence that says what is seen."""
    versions: tuple[Version, ...]
    """Of all lines, in PEP 440 order."""
    lines: tuple[Line, ...]
    changes: tuple[Change, ...]
    threshold: float | None = None
    """Above it a version is bad; None where the issue is not judged by this metric."""
