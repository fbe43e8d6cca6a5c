"""Devices that are the processor itself: `cpu`, and `xla` by way of PJRT's CPU client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.devices.port import Health, Part, Passthrough, Unit
from orchestrator.model import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.devices.host import Host


class Processor:
    """Always there, shared by all cells, and nothing to pass to a container (see `Backend`)."""

    leased = False

    def units(self, host: Host) -> tuple[Unit, ...]:  # noqa: ARG002 - part of the port
        """Return nothing: there is nothing to give out."""
        return ()

    def absent(self, host: Host) -> str:  # noqa: ARG002 - part of the port
        """Say that there are no units."""
        return "a processor has no units"

    def passthrough(self, host: Host, part: Part) -> Passthrough:  # noqa: ARG002 - part of the port
        """Return nothing: a container has the processor."""
        return Passthrough()

    def confinement(self, host: Host, part: Part) -> Mapping[str, str]:  # noqa: ARG002 - part of the port
        """Return nothing."""
        return {}

    def health(self, unit: Unit) -> Health:  # noqa: ARG002 - part of the port
        """Return that nothing was asked."""
        return Health(checked=False)

    def fingerprint(self, host: Host, units: Sequence[Unit]) -> Fingerprint:  # noqa: ARG002 - part of the port
        """Return the model of the processor."""
        return Fingerprint(device=host.processor, driver=None, system=host.system)
