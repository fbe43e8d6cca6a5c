"""What probes came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from orchestrator.model.moment import Moment

NO_METRICS: Mapping[str, float] = MappingProxyType({})
"""What all results without metrics share."""


class Verdict(StrEnum):
    """What an outcome says about the version."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """What one probe came to in one attempt (docs/concepts.md has the table)."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    CRASH = "crash"
    TIMEOUT = "timeout"
    ABSENT = "absent"
    ERROR = "error"
    INCOMPATIBLE = "incompatible"
    UNRESOLVABLE = "unresolvable"
    BUILD_FAILED = "build-failed"
    NO_DEVICE = "no-device"
    INFRA = "infra"
    NOT_RUN = "not-run"

    @property
    def verdict(self) -> Verdict:
        """The verdict, where the issue says nothing else."""
        if self is Outcome.PASS:
            return Verdict.GOOD
        if self in (Outcome.FAIL, Outcome.CRASH, Outcome.TIMEOUT):
            return Verdict.BAD
        return Verdict.UNKNOWN

    @property
    def measured(self) -> bool:
        """Whether the outcome is a fact about the versions that a second run would find again."""
        return self not in (Outcome.BUILD_FAILED, Outcome.NO_DEVICE, Outcome.INFRA, Outcome.NOT_RUN)


# Results, judgements and points come by the million: a dataclass takes eight times as long to make.
class ProbeResult(Struct, frozen=True, kw_only=True, gc=False):
    """One probe's outcome, with what it showed. Durations in seconds."""

    probe: str
    outcome: Outcome
    signature: str | None = None
    """Exception type and normalised message, or signal, or reason: equal for equal failures."""
    message: str | None = None
    """An excerpt of what the probe printed or raised."""
    duration: float | None = None
    metrics: Mapping[str, float] = NO_METRICS


class Judgement(Struct, frozen=True, kw_only=True, gc=False):
    """What all probes of one issue came to in one cell. Durations in seconds."""

    outcome: Outcome
    verdict: Verdict
    signature: str | None = None
    metrics: Mapping[str, float] = NO_METRICS
    message: str | None = None
    """What the probe that decides printed or raised; None where it passed."""
    duration: float | None = None
    """Of all its probes together."""
    attempt: str | None = None
    """Where it was measured; None where nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What probes computed on, as the host tells: results of two of these need not agree."""

    device: str
    """The model of the processor or GPU."""
    driver: str | None
    """Name and version of the GPU's kernel driver; None where there is none."""
    system: str
    """Kernel and architecture."""
    firmware: str | None = None
    """What the GPU itself runs, where its tool tells."""
    runtime: Mapping[str, str] = field(default_factory=dict)
    """The device's libraries inside the environment, with their versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where results come from: one attempt. Durations in seconds."""

    attempt: str
    runtime: str
    base: str
    """The digest of what lies below the locked distributions."""
    started: Moment
    duration: float
    fingerprint: Fingerprint | None = None
    """None where an older version of this program measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What the import pre-flight saw of one package under test."""

    package: str
    version: str | None
    git_version: str | None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One execution of probes in one cell, classified."""

    cell: str
    origin: Origin
    imports: tuple[Import, ...]
    results: tuple[ProbeResult, ...]
    exit_code: int | None = None
    note: str | None = None
