"""What `matrix.yaml` says, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal

from orchestrator.versions import SpecifierSet, Version

DEFAULT_INDEX = "default"
"""The name of the index that pip and uv use when told nothing: PyPI, or what the host configures."""


class Device(StrEnum):
    """What the probes of a stack compute on."""

    CPU = "cpu"
    XPU = "xpu"
    CUDA = "cuda"
    XLA = "xla"


class State(StrEnum):
    """Where an issue stands at the newest version that is known."""

    OK = "ok"
    AFFECTED = "affected"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package under test: how it is called, imported and where its releases are."""

    name: str
    distribution: str
    module: str
    repository: str | None = None
    tag: str = "v{version}"
    indexes: Mapping[Device, tuple[str, ...]] = field(default_factory=dict)
    git: str | None = None
    """The repository that has the commits between two releases: a URL, or the absolute path of a local one."""
    build_requires: tuple[str, ...] = ()
    """What building a commit needs and its project does not declare."""
    build_environment: Mapping[str, str] = field(default_factory=dict)
    nightlies: Mapping[Device, tuple[str, ...]] = field(default_factory=dict)
    """Per device, the names of the indexes that serve dated development builds."""

    def candidates(self, device: Device) -> tuple[str, ...]:
        """Return the names of the indexes to ask for this package, in order."""
        return self.indexes.get(device, (DEFAULT_INDEX,))

    def release_tag(self, version: Version) -> str:
        """Return the tag of a release in the package's repository."""
        # Not str.format, which would reach into attributes. Tags of some projects leave the local label out.
        return self.tag.replace("{version}", str(version)).replace("{public}", version.public)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """Versions to be read from the index: those that meet a PEP 440 specifier."""

    specifier: SpecifierSet
    patches: Literal["newest", "all"] = "newest"
    prereleases: bool = False
    yanked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One package that varies in a stack."""

    package: str
    versions: tuple[Version, ...] | VersionRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """A package whose version follows an axis.

    `rules` maps a range of the followed axis to what is required of the companion, first match wins.
    With `same_minor`, a followed version X.Y.Z that no rule matches requires the companion `==X.Y.*`.
    A followed version without any requirement has no cell, and says so.
    """

    package: str
    follows: str
    rules: tuple[tuple[SpecifierSet, SpecifierSet], ...] = ()
    same_minor: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Cells that are not to be run, and why: all conditions must hold."""

    where: Mapping[str, SpecifierSet]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A named small matrix: a device, its axes, and the rules that tie packages together."""

    name: str
    device: Device
    python: tuple[str, ...]
    axes: tuple[Axis, ...]
    companions: tuple[Companion, ...] = ()
    requirements: tuple[str, ...] = ()
    exclude: tuple[Exclusion, ...] = ()
    include: tuple[Mapping[str, str], ...] = ()
    resolution: Literal["as-of-release", "latest"] | datetime = "as-of-release"
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A recorded number that decides: the probe is bad where `bad` holds, e.g. `mae > 1e-4`."""

    metric: str
    above: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One upstream problem and the probes that show it."""

    id: str
    title: str
    link: str | None
    probes: tuple[str, ...]
    subjects: Mapping[str, str]
    """Stack name to the axis along which the issue is followed."""
    expect: State | None = None
    shows: str | None = None
    """Text that a failure must contain to count; any other failure is an error of its own."""
    threshold: Threshold | None = None
    absent_is_bad: bool = False
    timeout_is_bad: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImage:
    """Where the image below all cells of one Python comes from, tried in this order."""

    python: str
    image: str
    debian: str | None
    """The Debian suite whose python3 is this Python, for hosts that reach no registry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one cell may use. Durations in seconds, sizes in bytes."""

    probe_timeout: float = 120.0
    build_timeout: float = 1800.0
    memory: int = 8 * 1024**3
    shm: int = 1024**3
    pids: int = 512
    disk: int = 45 * 10**9
    wheels: int = 8 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A whole `matrix.yaml`, checked."""

    path: Path
    probes: Path
    images: Path
    """The directory of the Dockerfiles."""
    packages: Mapping[str, Package]
    indexes: Mapping[str, str]
    stacks: Mapping[str, Stack]
    issues: Mapping[str, Issue]
    bases: Mapping[str, BaseImage]
    limits: Limits
    environment: Mapping[str, str] = field(default_factory=dict)
    registry: str | None = None
    """Where layers are shared, as `host:port/name`."""
