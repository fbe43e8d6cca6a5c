"""Where this host shows its devices, and reading the small files in which it does."""

from __future__ import annotations

import grp
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

_MODEL = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The roots of the file systems that tell of devices; others in tests."""

    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
    proc: Path = Path("/proc")

    @property
    def system(self) -> str:
        """Kernel and architecture."""
        return f"{platform.system()} {platform.release()} {platform.machine()}"

    @property
    def processor(self) -> str:
        """The model of the processor, where the kernel knows it."""
        found = _MODEL.search(text(self.proc / "cpuinfo"))
        return " ".join(found.group(1).split()) if found else platform.machine()

    @property
    def boot(self) -> str:
        """What tells this boot from every other; empty if unknown."""
        return text(self.proc / "sys/kernel/random/boot_id")


def text(path: Path) -> str:
    """Return what a small file says, without blanks around it; empty where it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def refused(node: Path) -> str | None:
    """Return why this process may not open a device node, None where it may."""
    if os.access(node, os.R_OK | os.W_OK):
        return None
    try:
        gid = node.stat().st_gid
    except OSError as error:
        return f"{node}: {error.strerror}"
    return f"no rights to {node}: it belongs to {_group(gid)}, which this user is not in"


def _group(gid: int) -> str:
    try:
        return f"group {grp.getgrgid(gid).gr_name} ({gid})"
    except KeyError:
        return f"group {gid}"
