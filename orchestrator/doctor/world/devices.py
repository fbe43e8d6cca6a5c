"""Look for GPUs in the kernel's file systems, and ask xpu-smi how they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.devices import BACKENDS, Host, discover, quarantine
from orchestrator.doctor.devices import DevicesSeen, Gpu
from orchestrator.doctor.world.disk import volume
from orchestrator.doctor.world.rights import rights
from orchestrator.model import Device

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from threading import Event

    from orchestrator.devices import Health, Unit

_TOOL_TIMEOUT = 4.0
_INTEL = "0x8086"
_DISPLAY = "0x03"
"""How the class of a display controller begins on the PCI bus."""

_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def look_at_devices(host: Host | None = None) -> DevicesSeen:
    """Return the GPUs of this host, or of the trees of another one."""
    host = host or Host()
    return DevicesSeen(
        gpus=intel_gpus(host),
        driverless=tuple(_driverless(host)),
        by_path=(host.dev / "dri" / "by-path").is_dir(),
        nvidia=bool(BACKENDS[Device.CUDA].units(host)),
        quarantined={one.unit: one.reason for one in quarantine(host.boot).held()},
    )


def intel_gpus(host: Host) -> tuple[Gpu, ...]:
    """Return the GPUs that a run would use, and who may open their nodes."""
    found = []
    for unit in BACKENDS[Device.XPU].units(host):
        node = None if unit.node is None else rights(unit.node)
        if node is not None:
            address = unit.id if _ADDRESS.fullmatch(unit.id) else ""
            found.append(Gpu(model=unit.name, address=address, driver=unit.driver or "unknown", node=node))
    return tuple(found)


def _driverless(host: Host) -> Iterator[str]:
    devices = host.sys / "bus" / "pci" / "devices"
    for device in sorted(devices.iterdir()) if devices.is_dir() else ():
        graphics = _text(device / "class").startswith(_DISPLAY) and _text(device / "vendor") == _INTEL
        if graphics and not (device / "driver").exists():
            yield device.name


def look_at_health(cancel: Event) -> Mapping[str, Health]:
    """Return what xpu-smi says of each GPU that a run would use, by PCI address."""
    return health_of(BACKENDS[Device.XPU].units(Host()), cancel)


def health_of(units: Sequence[Unit], cancel: Event) -> Mapping[str, Health]:
    """Return the health of some GPUs; of those that nobody waits for any more, nothing."""
    found = {}
    for unit in units:
        if cancel.is_set():
            break
        found[unit.id] = discover(unit.id, timeout=_TOOL_TIMEOUT, cancel=cancel)
    return found


def shared_memory() -> int | None:
    """Return the bytes free in /dev/shm, None where there is none."""
    seen = volume(Path("/dev/shm"))  # noqa: S108 - the place is the question
    return None if seen is None else seen.free


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
