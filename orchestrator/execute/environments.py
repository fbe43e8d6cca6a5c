"""Virtual environments on disk: grown from one another by hard links, marked when whole, counted, removed."""

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from filelock import FileLock

from orchestrator.execute.port import Held
from orchestrator.files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from pathlib import Path

    from orchestrator.execute.port import Step

_MARKER = "orchestrator-ready.json"
_LOCKED = "locked.txt"
_LOCK = ".lock"
"""What uv locks while it installs: were it one file, siblings would wait for each other."""


class Environments:
    """One directory for each step's environment; the marker that makes it count is written last."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def directory(self, key: str) -> Path:
        """Return where a step's environment is, or would be."""
        return self.root / key

    def ready(self, key: str) -> bool:
        """Tell whether an environment is there and complete."""
        return (self.directory(key) / _MARKER).exists()

    @contextmanager
    def making(self, step: Step) -> Iterator[bool]:
        """Hold a step's environment while it is made; True where it has to be. Half of one never stays."""
        directory = self.directory(step.key)
        self.root.mkdir(parents=True, exist_ok=True)
        with FileLock(directory.with_suffix(".lock"), is_singleton=False, thread_local=False):
            if self.ready(step.key):
                yield False
                return
            shutil.rmtree(directory, ignore_errors=True)
            try:
                yield True
                self._mark(step)
            except BaseException:
                shutil.rmtree(directory, ignore_errors=True)
                raise

    def grow(self, step: Step) -> None:
        """Start a step's environment from its parent's: the same files, by hard links."""
        if step.parent is not None:
            parent = self.directory(step.parent)
            # Only at the top: a wheel may have files of these names.
            own = {str(parent): {_MARKER, _LOCKED, _LOCK}}
            shutil.copytree(
                parent,
                self.directory(step.key),
                symlinks=True,
                copy_function=_link,
                ignore=lambda directory, _names: own.get(str(directory), set()),
            )

    def locked(self, step: Step) -> tuple[str, ...]:
        """Return what must be installed in a step's environment: name==version of the whole chain."""
        own = [f"{d.name}=={d.version}" for d in step.distributions]
        below = (self.directory(step.parent) / _LOCKED).read_text(encoding="utf-8") if step.parent else ""
        return tuple(sorted((*below.split(), *own)))

    def touch(self, key: str) -> None:
        """Note that an environment was used just now."""
        with suppress(FileNotFoundError):
            os.utime(self.directory(key) / _MARKER)

    def held(self) -> dict[str, Held]:
        """Return every complete environment; the size of each is what no other directory holds too.

        Where uv's cache is on the same file system that is little: the wheels are the cache's, and stay with it.
        """
        found: dict[str, Held] = {}
        for marker in self.root.glob(f"*/{_MARKER}"):
            with suppress(OSError, ValueError, KeyError, TypeError):  # being removed, or not ours
                found[marker.parent.name] = _held(marker)
        return found

    def discard(self, key: str) -> bool:
        """Remove an environment, unless others stand on it; tell whether it is gone."""
        if any(held.parent == key for held in self.held().values()):
            return False
        directory = self.directory(key)
        (directory / _MARKER).unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)
        return True

    def _mark(self, step: Step) -> None:
        directory = self.directory(step.key)
        write_atomic(directory / _LOCKED, "\n".join(self.locked(step)).encode())
        marker = {
            "parent": step.parent,
            "base": step.base.digest,
            "platform": step.platform,
            "wheels": step.wheels,
            "size": _own(directory),
        }
        write_atomic(directory / _MARKER, json.dumps(marker).encode())


def _held(marker: Path) -> Held:
    told = json.loads(marker.read_bytes())
    return Held(
        key=marker.parent.name,
        parent=told["parent"],
        base=told["base"],
        platform=told["platform"],
        wheels=tuple((name, version, sha256) for name, version, sha256 in told["wheels"]),
        size=int(told["size"]),
        used=datetime.fromtimestamp(marker.stat().st_mtime, UTC),
    )


def _link(source: str | PathLike[str], target: str | PathLike[str]) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file has only so many names
        shutil.copy2(source, target)


def _own(directory: Path) -> int:
    """Return the bytes of the files that no other directory holds: what uv linked is its cache's."""
    entries = (path.lstat() for path in directory.rglob("*"))
    return sum(entry.st_size for entry in entries if stat.S_ISREG(entry.st_mode) and entry.st_nlink == 1)
