"""Look for GPUs in the kernel's file systems, and ask xpu-smi how they are."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.devices import BACKENDS, Host, quarantine
from orchestrator.doctor.devices import DevicesSeen, Gpu, ToolSeen
from orchestrator.doctor.world.disk import volume
from orchestrator.doctor.world.rights import rights
from orchestrator.model import Device

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

TOOL = "xpu-smi"
_TOOL_TIMEOUT = 4.0
_TICK = 0.1
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


def look_at_health(cancel: Event) -> ToolSeen:
    """Return what xpu-smi says of this host's GPUs; where there are none it is not called."""
    return ask_tool(cancel) if intel_gpus(Host()) else ToolSeen(present=False)


def ask_tool(cancel: Event) -> ToolSeen:
    """Ask xpu-smi for every GPU's state. It may never return: a GPU that hangs may hang the tool for good."""
    program = shutil.which(TOOL)
    if program is None:
        return ToolSeen(present=False)
    try:
        listed = _asked([program, "discovery", "-j"], cancel)
        states = {}
        for device in listed.get("device_list") or ():
            if cancel.is_set():
                break
            more = _asked([program, "discovery", "-d", str(device["device_id"]), "-j"], cancel)
            address = str(device.get("pci_bdf_address") or device["device_id"])
            states[address] = str(more.get("device_state") or "")
    except subprocess.TimeoutExpired:
        return ToolSeen(present=True, trouble="it hangs")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, subprocess.SubprocessError) as error:
        return ToolSeen(present=True, trouble=_trouble(error))
    return ToolSeen(present=True, states=states)


def _asked(argv: list[str], cancel: Event) -> dict[str, Any]:
    """Return what a call of the tool prints; what it has started ends with it, also when nobody waits any more."""
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + _TOOL_TIMEOUT
        while True:
            try:
                said, _ = process.communicate(timeout=_TICK)
                break
            except subprocess.TimeoutExpired:
                if cancel.is_set() or time.monotonic() > deadline:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    raise
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, argv, said)
    answer: dict[str, Any] = json.loads(said)
    return answer


def _trouble(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        last = next((line.strip() for line in reversed(str(error.stdout).splitlines()) if line.strip()), "")
        return f"it ends with exit status {error.returncode}{f': {last}' if last else ''}"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "its answer is not what it should be"


def shared_memory() -> int | None:
    """Return the bytes free in /dev/shm, None where there is none."""
    seen = volume(Path("/dev/shm"))  # noqa: S108 - the place is the question
    return None if seen is None else seen.free


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
