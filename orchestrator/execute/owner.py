"""Who made a container: enough to tell later whether that process is still alive."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.images import TOOL, TOOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "io.orchestrator."


def owner() -> dict[str, str]:
    """Return labels that name this process: its number alone is given out again after a while."""
    return {
        TOOL_LABEL: TOOL,
        f"{PREFIX}host": host(),
        f"{PREFIX}pid": str(os.getpid()),
        f"{PREFIX}started": start_ticks(os.getpid()) or "",
        f"{PREFIX}created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def has_died(labels: Mapping[str, str]) -> bool:
    """Tell whether the process that the labels name is known to be gone.

    Of a process on another host, in another boot or in another container nothing is known: engines are shared.
    """
    pid = labels.get(f"{PREFIX}pid", "")
    if not host() or labels.get(f"{PREFIX}host") != host() or not pid.isdigit():
        return False
    return start_ticks(int(pid)) != labels.get(f"{PREFIX}started")


@cache
def host() -> str:
    """Return what tells this boot of this host, and these process numbers, from every other; empty if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def start_ticks(pid: int) -> str | None:
    """Return when a process began, in the kernel's count; None where it does not run or nobody says."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command, in parentheses, may contain anything.
    return stat.rpartition(")")[2].split()[19]
