"""Leases: who computes on which GPU, held by locks on files that all users and runs of a host share.

The kernel drops a lock with the last process that holds it, so a run that is killed leaves no lease behind.
"""

from __future__ import annotations

import fcntl
import math
import os
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import EnvironmentUnusableError

if TYPE_CHECKING:
    from collections.abc import Callable

PLACES = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - made for everybody on purpose
_NAME = "matrix-orchestrator"
_EVERYBODY = 0o1777
_TURN = 1.0
"""Seconds after a lease was had during which its holder does not stand in line for the same GPU again."""


def shared_directory(places: tuple[Path, ...] = PLACES) -> Path:
    """Return the directory where all users of this host keep their locks, made where it is missing.

    Raises:
        EnvironmentUnusableError: there is no such place, or somebody made it something else.
    """
    # Only places that every user may write to, so that all of them come to the same one.
    place = next((one for one in places if one.is_dir() and one.stat().st_mode & stat.S_IWOTH), None)
    if place is None:
        wanted = " nor ".join(map(str, places))
        raise EnvironmentUnusableError(
            f"GPUs cannot be leased: neither {wanted} can be written by everybody",
            hint="make one of them a directory of mode 1777",
        )
    directory = place / _NAME
    with suppress(FileExistsError):
        directory.mkdir()
        directory.chmod(_EVERYBODY)  # mkdir's own mode is cut by the umask
    mode = directory.lstat().st_mode
    if not stat.S_ISDIR(mode) or not os.access(directory, os.W_OK | os.X_OK):
        raise EnvironmentUnusableError(
            f"GPUs cannot be leased: {directory} is not a directory that everybody may write to",
            hint=f"remove it, or chmod 1777 {directory}",
        )
    return directory


class Lease:
    """A GPU, or a share of it, until `release` or the end of this process."""

    def __init__(self, descriptors: tuple[int, ...], *, orphaned: bool) -> None:
        self._descriptors = descriptors
        self._lock = threading.Lock()
        self.orphaned = orphaned
        """Whether the last holder died without giving it back: what it started may still compute there."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The files that hold it: a child that is given them holds it too, should this process die before it."""
        return self._descriptors

    def hand_down(self) -> None:
        """Let the program that takes the place of this process have it, until its own end."""
        for descriptor in self._descriptors:
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - the library's own signature

    def release(self) -> bool:
        """Give it back; tell whether that was still to be done."""
        with self._lock:
            descriptors, self._descriptors = self._descriptors, ()
        for descriptor in reversed(descriptors):
            os.ftruncate(descriptor, 0)
            _drop(descriptor)
        return bool(descriptors)


class Leases:
    """Leases on the GPUs of this host. Only one thread may take them; any may release them.

    A GPU that is leased as a whole is leased to nobody else. Shares of it, each by its name, exclude only those
    who want the whole and those who want the same share. Whoever finds a GPU taken stands in line, so that a run
    which takes it again and again does not keep others from it.
    """

    def __init__(self, directory: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory = directory
        self._clock = clock
        self._turns: dict[str, int] = {}
        self._had: dict[str, float] = {}

    def take(self, unit: str, share: str | None = None) -> Lease | None:
        """Return a lease on a GPU, or on a named share of it; None where another has it or is first in line."""
        if not self._line_up(unit):
            return None
        whole = self._open(f"{unit}.lock")
        if not _lock(whole, fcntl.LOCK_EX if share is None else fcntl.LOCK_SH):
            return None
        held = [whole]
        if share is not None:
            part = self._open(f"{unit}.{share}.lock")
            if not _lock(part, fcntl.LOCK_EX):
                _drop(whole)
                return None
            held.append(part)
        orphaned = sum(_marked(one) for one in held) > 0
        if share is None:
            # Alone now: whoever had a share is gone, and may have left something behind.
            orphaned |= sum(self._left(path) for path in self._directory.glob(f"{unit}.*.lock")) > 0
        os.pwrite(held[-1], f"{os.getpid()}\n".encode(), 0)
        self._had[unit] = self._clock()
        self.leave(unit)
        return Lease(tuple(held), orphaned=orphaned)

    def leave_all(self) -> None:
        """Give up every place in line."""
        self.leave(*self._turns)

    def leave(self, *units: str) -> None:
        """Give up the place in line for some GPUs."""
        for unit in units:
            if (descriptor := self._turns.pop(unit, None)) is not None:
                _drop(descriptor)

    def leave_recent(self) -> None:
        """Give up the place in line for GPUs that this run had a moment ago, which are others' turn."""
        now = self._clock()
        self.leave(*[unit for unit in self._turns if now - self._had.get(unit, -math.inf) < _TURN])

    def _line_up(self, unit: str) -> bool:
        if unit in self._turns:
            return True
        descriptor = self._open(f"{unit}.turn")
        if not _lock(descriptor, fcntl.LOCK_EX):
            return False
        self._turns[unit] = descriptor
        return True

    def _left(self, path: Path) -> bool:
        descriptor = self._open(path.name)
        try:
            return _marked(descriptor)
        finally:
            os.close(descriptor)

    def _open(self, name: str) -> int:
        """Open a lock file that everybody may open, made where it is missing."""
        path = self._directory / name
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            while True:
                # Not to be created where it exists: in a directory of everybody's the kernel refuses that.
                with suppress(FileNotFoundError):
                    return os.open(path, flags)
                with suppress(FileExistsError):
                    descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
                    os.fchmod(descriptor, 0o666)
                    return descriptor
        except OSError as error:
            raise EnvironmentUnusableError(
                f"GPUs cannot be leased: {path}: {error.strerror}", hint="remove it, if nobody computes just now"
            ) from error


def _lock(descriptor: int, kind: int) -> bool:
    """Lock an open file without waiting; closes it where another holds it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True


def _drop(descriptor: int) -> None:
    # Said in so many words: a child that is just being started has the descriptor too, for a moment.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _marked(descriptor: int) -> bool:
    """Tell whether a holder left its mark, and wipe it."""
    marked = os.fstat(descriptor).st_size > 0
    if marked:
        os.ftruncate(descriptor, 0)
    return marked
