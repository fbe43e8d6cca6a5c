"""Devices: whether this host has them, and what a container needs to see them."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from orchestrator.model import Device

INTEL = "0x8086"
_CARD = re.compile(r"card[0-9]+")
_RENDER = re.compile(r"renderD[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where this host shows its devices; another root in tests."""

    sys: Path = Path("/sys")
    dev: Path = Path("/dev")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passthrough:
    """What a container gets: device nodes, groups that may open them, directories to read, GPUs to ask for."""

    nodes: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    directories: tuple[str, ...] = ()
    gpus: bool = False


def missing(device: Device, host: Host | None = None) -> str | None:
    """Return why a device is not on this host, None where it is."""
    host = host or Host()
    if device is Device.XPU and not _intel_nodes(host):
        return f"no Intel GPU: {host.sys}/class/drm has no card with vendor {INTEL} and a render node"
    if device is Device.CUDA and not (host.dev / "nvidiactl").exists():
        return f"no NVIDIA GPU: there is no {host.dev}/nvidiactl"
    return None


def passthrough(device: Device, host: Host | None = None) -> Passthrough:
    """Return what a container needs for a device; nothing for those that are only computed on the CPU."""
    host = host or Host()
    if device is Device.XPU:
        nodes = _intel_nodes(host)
        # The number of the group differs from host to host, and an image need not know its name.
        groups = sorted({node.stat().st_gid for node in nodes})
        by_path = host.dev / "dri" / "by-path"
        return Passthrough(
            nodes=tuple(map(str, nodes)),
            groups=tuple(groups),
            # As a whole: the driver wants the symlinks, and mounting one makes it a device file.
            directories=(str(by_path),) if by_path.is_dir() else (),
        )
    if device is Device.CUDA:
        return Passthrough(gpus=True)
    return Passthrough()


def _intel_nodes(host: Host) -> list[Path]:
    """Return the render nodes of Intel's cards; a card with virtual functions is left to its guests."""
    found: list[Path] = []
    drm = host.sys / "class" / "drm"
    cards = sorted(drm.iterdir()) if drm.is_dir() else []
    for card in cards:
        if not _CARD.fullmatch(card.name) or _text(card / "device/vendor") != INTEL:
            continue
        if _text(card / "device/sriov_numvfs") not in ("", "0"):
            continue
        nodes = card / "device" / "drm"
        for node in sorted(nodes.iterdir()) if nodes.is_dir() else ():
            path = host.dev / "dri" / node.name
            if _RENDER.fullmatch(node.name) and _is_device(path):
                found.append(path)
    return found


def _is_device(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISREG(mode)  # a plain file stands in for a node where nobody may make one


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
