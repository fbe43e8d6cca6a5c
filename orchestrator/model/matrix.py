"""What `matrix.yaml` says, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orchestrator.versions import SpecifierSet, Version

if TYPE_CHECKING:
    from orchestrator.model.cells import Cell

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
class Prebuilt:
    """An image that has what some cells need already: those for which all conditions hold."""

    where: Mapping[str, SpecifierSet]
    image: str


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
    runner: tuple[str, ...] = ("ubuntu-latest",)
    """The labels of the CI runners that can run the stack's cells."""
    job_timeout: float | None = None
    """Seconds that a CI job with cells of this stack may take; None where the limits tell."""
    base: str | None = None
    """The name of the base below all its cells; the base of each cell's Python when None."""
    prebuilt: tuple[Prebuilt, ...] = ()
    """Images that are used as they are, the first that fits a cell."""


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
    """Where the image below cells of one Python comes from, tried in this order."""

    python: str
    image: str
    debian: str | None
    """The Debian suite whose python3 is this Python, for hosts that reach no registry."""
    dockerfile: str | None = None
    """A Dockerfile of the matrix that is built on the image first, for example the driver of a device."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """The build arguments of that Dockerfile."""
    prebuilt: bool = False
    """Whether the image has the packages under test already, in its own Python, and nothing is installed."""

    @property
    def key(self) -> str:
        """All that tells it from others, as text."""
        recipe = f" {self.recipe}" if self.dockerfile is not None else ""
        return f"{self.image} {self.python} {self.debian or '-'}{recipe}{' prebuilt' if self.prebuilt else ''}"

    @property
    def title(self) -> str:
        """What people call it."""
        if self.prebuilt:
            return f"prebuilt image {self.image}"
        return f"base of Python {self.python}" + (f" with {self.recipe}" if self.dockerfile is not None else "")

    @property
    def recipe(self) -> str:
        """Its Dockerfile with the arguments: "xpu.Dockerfile (TRAIN=lts/2523)"."""
        given = ", ".join(f"{name}={value}" for name, value in sorted(self.arguments.items()))
        return f"{self.dockerfile} ({given})" if given else f"{self.dockerfile}"


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
class GpuUse:
    """Which GPUs of a kind cells may compute on, and how many of them at once."""

    use: tuple[int | str, ...] = ()
    """Numbers (by PCI address, from 0) or PCI addresses; all when empty."""
    shared: int = 1
    """How many cells may compute on one at the same time."""
    tiles: bool = False
    """Whether each tile is given out by itself."""
    cdi: bool = False
    """Whether containers get them by the Container Device Interface."""


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
    devices: Mapping[Device, GpuUse] = field(default_factory=dict)

    def base(self, cell: Cell) -> BaseImage:
        """Return what lies below a cell: its prebuilt image, the base that its stack names, or its Python's."""
        if cell.prebuilt is not None:
            return BaseImage(python=cell.python, image=cell.prebuilt, debian=None, prebuilt=True)
        return self.bases[self.stacks[cell.stack].base or cell.python]
