"""Take result files out of places that the probe could write to: it may have left anything there."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestrator.execute.port import ARTIFACTS, MAX_ARTIFACT

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(slots=True)
class Harvest:
    """What was taken, and of the rest why not; files that were not there are in neither."""

    taken: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def keep(self, directory: Path) -> None:
        """Write what was taken to a directory of ours."""
        for name, data in self.taken.items():
            (directory / name).write_bytes(data)


def objection(mode: int, size: int, links: int = 1) -> str | None:
    """Return why a file is not read, None for a plain file of a sensible size."""
    for is_kind, kind in _KINDS:
        if is_kind(mode):
            return f"is {kind}"
    if not stat.S_ISREG(mode):
        return "is no regular file"
    if links > 1:
        return "is a hard link"
    if size > MAX_ARTIFACT:
        return f"is too large ({size} bytes, at most {MAX_ARTIFACT} are read)"
    return None


def read_plain(path: Path) -> bytes | None:
    """Return a plain file's content, None where there is none, it is something else, or it is too large."""
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _read(path.name, directory)
    except (OSError, _RefusedError):
        return None
    finally:
        os.close(directory)


def harvest_directory(path: Path) -> Harvest:
    """Read the expected files of a directory; follows no link, blocks on nothing, reads no more than allowed."""
    harvest = Harvest()
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        harvest.refused = dict.fromkeys(ARTIFACTS, f"its directory cannot be read: {error.strerror}")
        return harvest
    try:
        for name in ARTIFACTS:
            try:
                harvest.taken[name] = _read(name, directory)
            except FileNotFoundError:
                continue
            except _RefusedError as error:
                harvest.refused[name] = str(error)
            except OSError as error:
                harvest.refused[name] = f"cannot be read: {error.strerror}"
    finally:
        os.close(directory)
    return harvest


class _RefusedError(Exception):
    """A file is not taken; the message says why."""


def _read(name: str, directory: int) -> bytes:
    _examine(os.stat(name, dir_fd=directory, follow_symlinks=False))
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as file:
        # Looked at again: it may be another file by now.
        _examine(os.fstat(file.fileno()))
        data = file.read(MAX_ARTIFACT + 1)
    if len(data) > MAX_ARTIFACT:
        raise _RefusedError("grew too large while it was read")
    return data


def _examine(found: os.stat_result) -> None:
    if reason := objection(found.st_mode, found.st_size, found.st_nlink):
        raise _RefusedError(reason)
