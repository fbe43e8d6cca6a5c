"""What the rest of the program needs of a kind of device, and what it gets back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.devices.host import Host
    from orchestrator.model import Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One GPU of this host."""

    id: str
    """Its PCI address, like `0000:03:00.0`: the same for everybody on this host, and after a reboot."""
    index: int
    """Its place among those of its kind, by PCI address."""
    name: str
    """PCI id and, where known, model: "8086:e20b Arc B580"."""
    driver: str | None = None
    """Name and, where the kernel tells, version of its kernel driver."""
    node: Path | None = None
    """The device node that computing needs."""
    uuid: str | None = None
    """What the maker's own tools call it, where they need to be told."""
    tiles: int = 1
    integrated: bool = False
    """Whether it is part of the processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one cell computes on: a GPU, or one tile of it."""

    unit: Unit
    tile: int | None = None

    @property
    def title(self) -> str:
        """What people call it: "0000:03:00.0", or with its tile "0000:03:00.0 tile 1"."""
        return self.unit.id if self.tile is None else f"{self.unit.id} tile {self.tile}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passthrough:
    """What a container gets: device nodes, groups that may open them, directories to read, GPUs to ask for.

    Nodes and directories are pairs: where it is on this host, and where the container finds it.
    """

    nodes: tuple[tuple[str, str], ...] = ()
    groups: tuple[int, ...] = ()
    directories: tuple[tuple[str, str], ...] = ()
    gpus: tuple[str, ...] = ()
    """What the engine's own driver for GPUs is asked for, as it names them."""
    environment: Mapping[str, str] = field(default_factory=dict)
    by_cdi: tuple[str, ...] = ()
    """Device nodes by which CDI devices are to be found, where the matrix asks for CDI."""
    cdi: tuple[str, ...] = ()
    """The CDI devices that were found, by qualified name."""

    def resolved(self, names: tuple[str, ...]) -> Passthrough:
        """Return the same by way of CDI devices, which bring their nodes and directories along."""
        return replace(self, nodes=(), directories=(), gpus=(), by_cdi=(), cdi=names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What a GPU's own tool says of it; `reason` is why it cannot be used, None where nothing says so."""

    reason: str | None = None
    firmware: str | None = None
    checked: bool = True
    """False where there is no tool to ask."""


class Backend(Protocol):
    """One kind of device. Nothing here needs the libraries under test, or rights beyond reading."""

    leased: bool
    """Whether cells compute on GPUs that are given out one by one."""

    def units(self, host: Host) -> tuple[Unit, ...]:
        """Return what can be computed on, by PCI address."""
        ...

    def absent(self, host: Host) -> str:
        """Return why there are no units, for people."""
        ...

    def passthrough(self, host: Host, part: Part) -> Passthrough:
        """Return what a container needs to compute on a part, and on nothing else."""
        ...

    def confinement(self, host: Host, part: Part) -> Mapping[str, str]:
        """Return the environment variables that keep a process of this host to a part."""
        ...

    def health(self, unit: Unit) -> Health:
        """Ask the device's own tool, for a bounded time."""
        ...

    def fingerprint(self, host: Host, units: Sequence[Unit]) -> Fingerprint:
        """Return what some units are, without their firmware."""
        ...
