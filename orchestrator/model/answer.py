"""Series and transitions, and the report they go into: the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from orchestrator.model.matrix import Device, State, Threshold
from orchestrator.model.moment import Moment
from orchestrator.model.outcomes import NO_METRICS, Origin, Outcome, Verdict
from orchestrator.versions import Version


class Kind(StrEnum):
    """Which way a transition goes."""

    INTRODUCED = "introduced"
    FIXED = "fixed"


class Point(Struct, frozen=True, kw_only=True, gc=False):
    """One version of a series: what the issue's probes came to there."""

    version: Version
    cell: str
    outcome: Outcome
    verdict: Verdict
    signature: str | None = None
    metrics: Mapping[str, float] = NO_METRICS
    bad: int = 0
    """How many runs came out bad; more than one run may have been made."""
    good: int = 0
    attempt: str | None = None
    """Where it was measured; None where nothing was."""
    duration: float | None = None
    """Seconds that the probes took."""
    log: tuple[str, ...] = ()
    """The last lines that the probe printed or raised; only of the first point of several with one signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A distribution that differs between two cells; None where it is not installed."""

    name: str
    before: str | None
    after: str | None


class CauseKind(StrEnum):
    """How far hybrid cells separated what differs between the two sides of a transition."""

    EXACT = "exact"
    """One smallest set of packages, shown by witnesses."""
    SET = "set"
    """Several are possible, and no cell that can be installed separates them."""
    ELSE = "else"
    """No set of up to three packages explains what was seen."""
    OPEN = "open"
    """The search ended before it was known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Hybrid cells that show one thing of a culprit: with exactly these packages from the bad side, what comes."""

    taken: tuple[str, ...]
    fails: bool
    cells: tuple[str, ...]
    """The hybrids that show it: that one itself, or what stands in for it where it cannot be installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Which of the packages that differ between the two sides of a transition it takes, shown by hybrid cells."""

    kind: CauseKind
    packages: tuple[str, ...]
    probability: float
    """Of the most probable alternative."""
    alternatives: tuple[tuple[tuple[str, ...], float], ...]
    """What remains plausible with its probability, the most probable first; () is none of those described."""
    differing: tuple[str, ...]
    """All that differ; distributions that one of them requires exactly go with it."""
    witnesses: tuple[Witness, ...] = ()
    cells: int = 0
    """Hybrids that were run."""
    uninstallable: int = 0
    """Hybrids that cannot be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of state, between `after` (last version in the old state) and `version` (first in the new)."""

    kind: Kind
    after: Version | None
    """None where no version in the old state was seen."""
    version: Version
    untested: tuple[Version, ...] = ()
    confidence: float = 1.0
    """The probability that the state changes between the two."""
    since_api: bool = False
    """True where every version before `version` lacks the API: the issue is as old as the API."""
    compare: str | None = None
    culprit: tuple[str, ...] = ()
    """Packages under test that differ between the two cells; more than one cannot be told apart here."""
    moved: tuple[Moved, ...] = ()
    """What else differs between the two cells' locks."""
    cause: Cause | None = None
    """What hybrid cells say of the culprit, where they were run."""
    git_versions: tuple[str | None, str | None] = (None, None)
    commit: str | None = None
    """Hash, date and subject of the commit that is the new version, where it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Versions that were not tested between two of the same state."""

    after: Version
    before: Version
    untested: int
    hidden: float
    """The probability that the state changes and changes back in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """How surely a series is known, by the hidden Markov model of docs/concepts.md."""

    probability: float
    """That the states of all versions, those that can be tested but were not among them, are as told."""
    runs: int
    false_fail: float
    """The expected rate at which a version without the issue fails."""
    false_pass: float
    """The expected rate at which a version with the issue passes."""
    flaky: bool
    """Whether runs of one version disagreed."""
    gap: Gap | None = None
    """The largest gap."""
    hidden: float = 0.0
    """The probability that any gap hides a change."""


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
    belief: Belief | None = None
    """None where nothing is known."""


class Surprise(StrEnum):
    """In which way a series is not what was expected of it."""

    REGRESSION = "regression"
    FIXED = "unexpectedly-fixed"
    AFFECTED = "unexpectedly-affected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A series that ends in a state nobody expected: what a run fails for."""

    kind: Surprise
    issue: str
    stack: str
    axis: str
    fixed: Mapping[str, str]
    state: State
    expected: State | None
    version: Version
    """The newest known version, where the state is read."""
    since: Version | None
    """Where the state began; None where it was never another one."""
    new: bool = True
    """False where the run before found the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """One cell as a report lists it."""

    cell: str
    stack: str
    python: str
    versions: Mapping[str, str]
    """Packages under test: as locked, or as the axes name them where nothing was locked."""
    outcome: Outcome | None = None
    """What the whole cell came to where no probe could run; None where probes ran."""
    excluded: bool = False
    reason: str | None = None
    """Why no probe ran: the resolver's words, the import error, the rule that excludes the cell."""
    log: tuple[str, ...] = ()
    """The last lines of what was printed while the environment was made, where that failed."""
    lock: str | None = None
    """The digest of its lock."""
    origin: Origin | None = None
    """The newest attempt."""
    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)
    """By axis: the locked cell before it along that axis, and what differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """The cell before another one along an axis."""

    cell: str
    moved: tuple[Moved, ...]
    """Every distribution that differs, those under test too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A distribution as it is installed: `name==version`, from the index at a URL; None is the default index."""

    name: str
    version: str
    index: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What a report says of an issue besides its series."""

    title: str
    link: str | None = None
    probes: tuple[str, ...] = ()
    expect: State | None = None
    threshold: Threshold | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a report says of a stack besides its cells."""

    device: Device
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where results come from."""

    tool: str
    matrix: str
    """Digest of the matrix."""
    started: Moment | None = None
    runtime: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How a search went that ran only the cells that matter."""

    runs: int
    """Runs that this search made; earlier results were used besides."""
    cells: int
    """Cells that have any result now."""
    of: int
    """Cells that could be run."""
    confidence: float
    """What every answer was to reach."""
    open: tuple[str, ...] = ()
    """Issues without an answer of that confidence, each as "issue in stack"."""
    stopped: str | None = None
    """Why the search ended before every issue was answered."""
    single: bool = False
    """True where the state was taken to change once at most."""


class News(StrEnum):
    """In which way a series differs from what an earlier run said of it."""

    AFFECTED = "newly-affected"
    FIXED = "newly-fixed"
    INCOMPARABLE = "not-comparable"
    """Versions that were known are not any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A series that an earlier run told otherwise."""

    kind: News
    issue: str
    stack: str
    axis: str
    fixed: Mapping[str, str]
    versions: tuple[Version, ...]
    """At which versions, the oldest first."""
    before: Outcome | None
    """What the first of them came to; None where the earlier run did not know it."""
    after: Outcome
    besides: tuple[str, ...] = ()
    """What else is different in those cells: any of those that `Shift.what` is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Something that cells were measured on or with, and that is another than in an earlier run."""

    what: str
    """`base`, `runtime`, `device`, `driver`, `firmware`, `user-space` (libraries), `system` or `lock`."""
    before: str | None
    after: str | None
    cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What differs between two runs, in the series that both have."""

    old: Provenance
    new: Provenance
    compared: int
    """Series that both have."""
    differences: tuple[Difference, ...]
    shifts: tuple[Shift, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a report shows, in the order in which it shows it."""

    series: tuple[Series, ...]
    findings: tuple[Finding, ...]
    cells: tuple[CellRow, ...]
    issues: Mapping[str, Topic]
    stacks: Mapping[str, Setting]
    provenance: Provenance
    notices: tuple[str, ...] = ()
    """What the reader should know besides, one sentence each. Missing devices are told without one."""
    searched: Searched | None = None
    """None where all selected cells were to be run."""
    environments: Mapping[str, tuple[Pin, ...]] = field(default_factory=dict)
    """By cell, all that is installed there; of both sides of each transition and of each series' newest known."""
    distributions: Mapping[str, str] = field(default_factory=dict)
    """What each package under test is called where it is published, normalised (PEP 503)."""
    since: Comparison | None = None
    """What is different from the run before; None for the first."""
