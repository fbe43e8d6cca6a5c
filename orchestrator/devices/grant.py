"""What a cell may compute on, and why it may not yet or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from orchestrator.devices.leases import Lease
from orchestrator.devices.port import Part, Passthrough
from orchestrator.model import Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Leave to compute on a device, until `release`."""

    fingerprint: Fingerprint
    part: Part | None = None
    """None where a cell computes on the processor."""
    passthrough: Passthrough = field(default_factory=Passthrough)
    """What a container gets."""
    confinement: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that keep a process of this host to the part."""
    lease: Lease | None = field(default=None, compare=False)
    """None where nothing was leased: of a processor, or for people to look at."""
    returned: Callable[[], None] = field(default=lambda: None, compare=False)

    @property
    def orphaned(self) -> bool:
        """Whether what the last holder of the GPU started may still be running."""
        return self.lease is not None and self.lease.orphaned

    def release(self) -> None:
        """Give the GPU back; doing so twice is fine."""
        if self.lease is not None and self.lease.release():
            self.returned()


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """Everything that could be used is taken, or is still being asked how it is."""

    elsewhere: bool
    """Whether only other runs have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Nothing can be used, and that will not change by waiting."""

    reason: str
