"""Wheels in a directory, by content, and the parts of those that are still being downloaded.

<root>/CACHEDIR.TAG
<root>/<aa>/<sha256>/<file name>.whl
<root>/partial/<sha256>

A part belongs to who holds its lock (flock); one that nobody holds is what a crash or a broken download left.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filelock import FileLock

from orchestrator.files import tag_cache
from orchestrator.wheels.download import FetchError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from io import FileIO
    from pathlib import Path
    from threading import Event

_TICK = 0.1
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Shelf:
    """One such directory. Several threads and processes may use it at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def place(self, sha256: str, name: str) -> Path:
        """Return where a wheel lies, if it is there."""
        return self.root / sha256[:2] / sha256 / name

    @contextmanager
    def partial(self, sha256: str, subject: str, cancel: Event) -> Iterator[FileIO]:
        """Give the part of a wheel, made where there is none, for this caller alone; others wait.

        Raises:
            FetchError: `cancel` was set while another process had it.
        """
        path = self._partial(sha256)
        tag_cache(self.root)
        path.parent.mkdir(exist_ok=True)
        while (file := _locked(path, create=True)) is None:
            if cancel.wait(_TICK):
                raise FetchError(f"{subject}: cancelled", transient=True)
        with file:
            try:
                yield file
            finally:
                if _is_at(file, path) and os.fstat(file.fileno()).st_size == 0:
                    path.unlink(missing_ok=True)

    def keep(self, file: FileIO, sha256: str, name: str) -> Path:
        """Make a complete wheel of a part that this caller holds."""
        os.fsync(file.fileno())
        path = self.place(sha256, name)
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return self._partial(sha256).replace(path)
            except FileNotFoundError:
                # Another process may have removed the directory, empty as it was; then once more.
                if not self._partial(sha256).exists():
                    raise

    def open_partial(self, sha256: str, inode: int | None) -> FileIO | None:
        """Open a part for reading beside who holds it; None where that file is no part any more."""
        try:
            file = self._partial(sha256).open("rb", buffering=0)
        except FileNotFoundError:
            return None
        if os.fstat(file.fileno()).st_ino == inode:
            return file
        file.close()
        return None

    def size(self) -> int:
        """Return the bytes of all wheels and parts."""
        return sum(size for _, _, size in (*self._parts(), *self._wheels()))

    def evict(self, limit: int, *, needed: int = 0, spare: Collection[str] = ()) -> bool:
        """Remove parts that nobody holds, then the wheels used longest ago, until `needed` more bytes fit.

        Wheels in `spare` (by SHA-256) stay. Returns whether all is within the limit now.
        """
        parts, wheels = self._parts(), self._wheels()
        total = sum(size for _, _, size in (*parts, *wheels)) + needed
        if total <= limit:
            return True
        # One process at a time: two that see the same excess would remove twice of it.
        with FileLock(self.root / ".lock"):
            parts, wheels = self._parts(), self._wheels()
            total = sum(size for _, _, size in (*parts, *wheels)) + needed
            for _, path, size in parts:
                if total > limit and _removed_part(path):
                    total -= size
            for _, path, size in wheels:
                if total > limit and path.parent.name not in spare:
                    _remove_wheel(path)
                    total -= size
        return total <= limit

    def _partial(self, sha256: str) -> Path:
        return self.root / "partial" / sha256

    def _parts(self) -> list[tuple[int, Path, int]]:
        """Return the parts as (last use, path, size), the oldest first."""
        return _listed(path for path in self.root.glob("partial/*") if _SHA256.fullmatch(path.name))

    def _wheels(self) -> list[tuple[int, Path, int]]:
        return _listed(path for path in self.root.glob("??/*/*.whl") if _SHA256.fullmatch(path.parent.name))


def _listed(paths: Iterator[Path]) -> list[tuple[int, Path, int]]:
    found = []
    for path in paths:
        with suppress(FileNotFoundError):
            status = path.stat()
            found.append((status.st_mtime_ns, path, status.st_size))
    return sorted(found)


def _locked(path: Path, *, create: bool) -> FileIO | None:
    """Open a file and take its lock; None where another has it, or it went away meanwhile."""
    try:
        descriptor = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o644)
    except FileNotFoundError:
        return None
    file = os.fdopen(descriptor, "r+b", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(file, path):
            return file
    except BlockingIOError:
        pass
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _is_at(file: FileIO, path: Path) -> bool:
    """Tell whether that is still the file of this name: a holder before may have moved or removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _removed_part(path: Path) -> bool:
    file = _locked(path, create=False)
    if file is None:
        return False
    with file:
        path.unlink(missing_ok=True)
    return True


def _remove_wheel(path: Path) -> None:
    path.unlink(missing_ok=True)
    with suppress(OSError):  # not empty, or gone already
        path.parent.rmdir()
