"""Intel GPUs, found in sysfs as Intel's device plugin for Kubernetes does: no library, no rights, no network."""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING

from orchestrator.devices.host import Host, text
from orchestrator.devices.names import intel_name
from orchestrator.devices.port import Health, Part, Passthrough, Unit
from orchestrator.devices.xpu_smi import discover
from orchestrator.model import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

VENDOR = "0x8086"
_CARD = re.compile(r"card[0-9]+")
_RENDER = re.compile(r"renderD[0-9]+")
_DRIVER = re.compile(r"^DRIVER=(\S+)$", re.MULTILINE)
_SLOT = re.compile(r"^PCI_SLOT_NAME=(\S+)$", re.MULTILINE)
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_INTEGRATED = "0000:00:02.0"
"""Where the GPU that is part of an Intel processor has always been."""


class IntelGpus:
    """GPUs of the kernel drivers i915 and xe, by their render nodes (see `Backend`)."""

    leased = True

    def units(self, host: Host) -> tuple[Unit, ...]:
        """Return every GPU with a render node; one that has virtual functions is left to its guests."""
        cards = sorted(_cards(host), key=lambda found: _address(*found))
        units: list[Unit] = []
        for card, device in cards:
            if (node := _render_node(host, device)) is not None:
                units.append(_unit(host, card, device, node, len(units)))
        return tuple(units)

    def absent(self, host: Host) -> str:
        """Say what was found instead: other vendors, cards without render node, functions given to guests."""
        drm = f"{host.sys}/class/drm"
        lacking = [card.name for card, device in _cards(host, functions=True) if not _render_node(host, device)]
        parents = [card.name for card, device in _cards(host, functions=True) if _has_functions(device)]
        if parents:
            return f"no Intel GPU: {', '.join(parents)} of {drm} has its virtual functions given to guests"
        if lacking:
            return f"no Intel GPU: {', '.join(lacking)} of {drm} has no render node below {host.dev}/dri"
        return f"no Intel GPU: {drm} has no card with vendor {VENDOR} and a render node"

    def passthrough(self, host: Host, part: Part) -> Passthrough:
        """Return the render node with its own group, and the names that the driver looks it up by."""
        node = part.unit.node
        if node is None:
            return Passthrough()
        by_path = host.dev / "dri/by-path"
        return Passthrough(
            nodes=((str(node), f"/dev/dri/{node.name}"),),
            # The number of the group differs from host to host, and an image need not know its name.
            groups=(node.stat().st_gid,),
            # As a whole: mounting one of its symlinks makes it a device file, which the driver takes for another.
            directories=((str(by_path), "/dev/dri/by-path"),) if by_path.is_dir() else (),
            # Alone in its container, the GPU is the first; its tiles are told apart in every generation of drivers
            # only where they are parts of it, not devices of their own.
            environment={} if part.tile is None else _mask(f"0.{part.tile}", composite=True),
        )

    def confinement(self, host: Host, part: Part) -> Mapping[str, str]:
        """Return a mask where there are others to be kept from; the driver counts by PCI address then."""
        units = self.units(host)
        ordered = {"ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"}
        if part.tile is not None:
            return ordered | _mask(f"{part.unit.index}.{part.tile}", composite=True)
        if len(units) == 1:
            return {}
        # Each tile is a device of its own unless a process asks for another view.
        first = sum(unit.tiles for unit in units[: part.unit.index])
        return ordered | _mask(",".join(str(first + tile) for tile in range(part.unit.tiles)), composite=False)

    def health(self, unit: Unit) -> Health:
        """Ask `xpu-smi`, where it is installed."""
        return discover(unit.id)

    def fingerprint(self, host: Host, units: Sequence[Unit]) -> Fingerprint:
        """Return the models and kernel drivers of some GPUs."""
        drivers = sorted({unit.driver for unit in units if unit.driver is not None})
        return Fingerprint(
            device=", ".join(unit.name for unit in units) or "none",
            driver=", ".join(drivers) or None,
            system=host.system,
        )


def _mask(value: str, *, composite: bool) -> dict[str, str]:
    hierarchy = {"ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"} if composite else {}
    return {"ZE_AFFINITY_MASK": value, **hierarchy}


def _cards(host: Host, *, functions: bool = False) -> Iterator[tuple[Path, Path]]:
    """Yield Intel's cards with their devices; those that have virtual functions only where asked for."""
    drm = host.sys / "class/drm"
    for card in sorted(drm.iterdir()) if drm.is_dir() else ():
        device = card / "device"
        if not _CARD.fullmatch(card.name) or text(device / "vendor") != VENDOR:
            continue
        if functions or not _has_functions(device):
            yield card, device


def _has_functions(device: Path) -> bool:
    return text(device / "sriov_numvfs") not in ("", "0")


def _render_node(host: Host, device: Path) -> Path | None:
    drm = device / "drm"
    for entry in sorted(drm.iterdir()) if drm.is_dir() else ():
        node = host.dev / "dri" / entry.name
        if _RENDER.fullmatch(entry.name) and _is_device(node):
            return node
    return None


def _is_device(path: Path) -> bool:
    try:
        return stat.S_ISCHR(path.stat().st_mode)
    except OSError:
        return False


def _address(card: Path, device: Path) -> str:
    """Return the PCI address; of a device that has none, the name of its card."""
    name = device.resolve().name
    if _ADDRESS.fullmatch(name):
        return name
    found = _SLOT.search(text(device / "uevent"))
    return found.group(1) if found and _ADDRESS.fullmatch(found.group(1)) else card.name


def _unit(host: Host, card: Path, device: Path, node: Path, index: int) -> Unit:
    address = _address(card, device)
    integrated = address == _INTEGRATED
    return Unit(
        id=address,
        index=index,
        name=intel_name(text(device / "device").removeprefix("0x")),
        driver=_driver(host, device),
        node=node,
        # Of an integrated GPU the kernel lists what decodes video besides what computes.
        tiles=1 if integrated else max(1, _tiles(card, device)),
        integrated=integrated,
    )


def _tiles(card: Path, device: Path) -> int:
    """Return how many tiles the kernel lists: i915 below the card, xe below the device."""
    of_i915 = sum(1 for path in (card / "gt").glob("gt[0-9]*") if path.is_dir())
    return of_i915 or sum(1 for path in device.glob("tile[0-9]*") if path.is_dir())


def _driver(host: Host, device: Path) -> str:
    found = _DRIVER.search(text(device / "uevent"))
    link = device / "driver"
    name = found.group(1) if found else link.resolve().name if link.exists() else "unknown"
    return f"{name} {text(host.sys / 'module' / name / 'version')}".rstrip()
