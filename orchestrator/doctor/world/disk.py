"""Ask file systems for their free space, and whether they can be written to."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from orchestrator.doctor.disk import Volume


def data_root(root: str) -> Volume | None:
    """Return the file system that an engine says it keeps its data on, None where it is not seen here."""
    return volume(Path(root)) if root.startswith("/") else None


def volume(path: Path) -> Volume | None:
    """Return the file system of a directory, None where there is no such directory here."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    # btrfs and others make files as they are needed, and tell 0 of 0.
    files = found.f_favail if found.f_files else None
    return Volume(path=str(path), free=found.f_bavail * found.f_frsize, files=files)


def store(path: Path) -> Volume:
    """Return the file system that a store is on or would be made on, having written and removed a small file."""
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    seen = volume(there)
    free, files = (seen.free, seen.files) if seen is not None else (0, None)
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".orchestrator-doctor-") as file:
            file.write(b"\0" * 4096)
            file.flush()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            trouble = error.strerror or type(error).__name__
            return Volume(path=str(path), free=free, files=files, writable=False, trouble=trouble)
        if files != 0:  # it is space that is missing, whatever is kept for others
            free = 0
    return Volume(path=str(path), free=free, files=files)
