"""Who made a container: enough to tell later whether that process is still alive."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from orchestrator.images import TOOL, TOOL_LABEL

PREFIX = "io.orchestrator."


def owner() -> dict[str, str]:
    """Return labels that name this process: a number alone is given out again after a while."""
    return {
        TOOL_LABEL: TOOL,
        f"{PREFIX}boot": boot(),
        f"{PREFIX}pid": str(os.getpid()),
        f"{PREFIX}started": start_ticks(os.getpid()) or "",
        f"{PREFIX}created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def is_alive(labels: dict[str, str]) -> bool:
    """Tell whether the process that the labels name still runs on this boot of this host."""
    pid = labels.get(f"{PREFIX}pid", "")
    if labels.get(f"{PREFIX}boot") != boot() or not pid.isdigit():
        return False
    return start_ticks(int(pid)) == labels.get(f"{PREFIX}started")


@cache
def boot() -> str:
    """Return what tells this boot of this host from every other; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
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
