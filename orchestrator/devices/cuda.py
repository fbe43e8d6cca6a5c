"""NVIDIA GPUs, as their kernel driver lists them in `/proc`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orchestrator.devices.host import Host, text
from orchestrator.devices.port import Health, Part, Passthrough, Unit
from orchestrator.model import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_VERSION = re.compile(r"Kernel Module\s+(?:for \S+\s+)?(\d[\d.]*)")
_UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NvidiaGpus:
    """GPUs of NVIDIA's kernel driver, given to containers by the engine's own request for GPUs (see `Backend`)."""

    leased = True

    def units(self, host: Host) -> tuple[Unit, ...]:
        """Return every GPU that the driver lists."""
        if not (host.dev / "nvidiactl").exists():
            return ()
        found = sorted((host.proc / "driver/nvidia/gpus").glob("*/information"))
        return tuple(_unit(host, file, index) for index, file in enumerate(found))

    def absent(self, host: Host) -> str:
        """Say which of the driver's two traces is missing."""
        control = host.dev / "nvidiactl"
        if not control.exists():
            return f"no NVIDIA GPU: there is no {control}"
        return f"no NVIDIA GPU: {host.proc}/driver/nvidia/gpus lists none"

    def passthrough(self, host: Host, part: Part) -> Passthrough:  # noqa: ARG002 - part of the port
        """Return the request for one GPU: by UUID, and by number only where the driver does not tell it."""
        return Passthrough(gpus=(_handle(part.unit),))

    def confinement(self, host: Host, part: Part) -> Mapping[str, str]:
        """Return the GPU's number, counted by PCI address, where there are others to be kept from."""
        if len(self.units(host)) == 1:
            return {}
        return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": _handle(part.unit)}

    def health(self, unit: Unit) -> Health:  # noqa: ARG002 - part of the port
        """Return that nothing was asked: a GPU that the driver gave up is not listed any more."""
        return Health(checked=False)

    def fingerprint(self, host: Host, units: Sequence[Unit]) -> Fingerprint:
        """Return the models of some GPUs and the version of the driver."""
        return Fingerprint(
            device=", ".join(sorted(unit.name for unit in units)) or "unknown",
            driver=_driver(host),
            system=host.system,
        )


def _handle(unit: Unit) -> str:
    return unit.uuid or str(unit.index)


def _driver(host: Host) -> str | None:
    found = _VERSION.search(text(host.proc / "driver/nvidia/version"))
    return f"nvidia {found.group(1)}" if found else None


def _unit(host: Host, file: Path, index: int) -> Unit:
    known = dict(line.split(":", 1) for line in text(file).splitlines() if ":" in line)
    facts = {name.strip(): " ".join(value.split()) for name, value in known.items()}
    uuid = facts.get("GPU UUID", "")
    return Unit(
        id=file.parent.name.lower(),
        index=index,
        name=facts.get("Model") or "unknown",
        driver=_driver(host),
        node=host.dev / f"nvidia{facts.get('Device Minor', index)}",
        # Before the first program has used it, it is all question marks.
        uuid=uuid if _UUID.fullmatch(uuid) else None,
    )
