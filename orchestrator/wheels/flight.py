"""A download under way, and those who wait for it or read along."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from orchestrator.wheels.download import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_TICK = 0.1


class Flight:
    """One download, shared by everybody in this process who wants the same wheel.

    One thread downloads and reports (it is the download's Follower); the others wait. Of a file that is not known
    to be right yet the last byte is held back: whatever a server sends, no reader gets the whole of a wrong wheel.
    """

    def __init__(self, subject: str, started: Callable[[], None], received: Callable[[int], None]) -> None:
        self.cancel = threading.Event()
        """Set when nobody waits any more."""
        self.users = 0
        """How many wait; the cache's to count."""
        self.inode: int | None = None
        """The file that grows, once there is one."""
        self._subject = subject
        self._on_started = started
        self._on_received = received
        self._changed = threading.Condition()
        self._total: int | None = None
        self._length = 0
        self._content = 0
        self._begun = False
        self._right = False
        self._path: Path | None = None
        self._error: FetchError | None = None

    def started(self, total: int | None) -> None:
        """Note that the server answers, and how long the wheel is."""
        with self._changed:
            self._total = total
        self._on_started()
        with self._changed:
            self._begun = True
            self._changed.notify_all()

    def grew(self, length: int, received: int) -> None:
        """Note how long the file is now."""
        self._on_received(received)
        with self._changed:
            self._length = length
            self._changed.notify_all()

    def dropped(self, *, wrong: bool) -> None:
        """Note that the file starts again; those who have read of wrong content cannot go on."""
        with self._changed:
            self._length = 0
            self._content += wrong

    def verified(self) -> None:
        """Note that the file is whole and right."""
        with self._changed:
            self._right = True
            self._total = self._length
            self._changed.notify_all()

    def landed(self, path: Path) -> None:
        """Note where the wheel lies now."""
        with self._changed:
            self._path = path
            self._changed.notify_all()

    def failed(self, error: FetchError) -> None:
        """Note that there is no more to come; only the first word on it counts."""
        with self._changed:
            if self._path is None and self._error is None:
                self._error = error
                self._changed.notify_all()

    @property
    def total(self) -> int | None:
        """How long the wheel is, in bytes, as far as the server says."""
        with self._changed:
            return self._total

    @property
    def content(self) -> int:
        """Another number for every content that the file has had."""
        with self._changed:
            return self._content

    @property
    def missing(self) -> int:
        """Bytes that are still to come, as far as is known."""
        with self._changed:
            return max(0, (self._total or 0) - self._length) if self._path is None else 0

    def begun(self, cancel: threading.Event) -> Path | None:
        """Wait until the server answers, and return the wheel's path where it is whole by then.

        Raises:
            FetchError: it never came, or `cancel` was set.
        """
        with self._changed:
            self._wait(lambda: (self._begun and self._error is None) or self._path is not None, cancel)
            return self._path

    def result(self, cancel: threading.Event) -> Path:
        """Wait until the wheel is whole.

        Raises:
            FetchError: it cannot be had, or `cancel` was set.
        """
        with self._changed:
            self._wait(lambda: self._path is not None, cancel)
            assert self._path is not None  # noqa: S101 - what was waited for
            return self._path

    def available(self, offset: int, content: int, cancel: threading.Event) -> int:
        """Wait until there is more than `offset` to read, and return how far; `offset` itself where that is all.

        Raises:
            FetchError: there will not be more, or what was read so far is not the wheel's.
        """
        with self._changed:
            self._wait(lambda: self._right or self._content != content or self._length - 1 > offset, cancel)
            if self._content != content:
                # Whoever reads waits for the second try all the same: it would end if nobody did.
                self._wait(lambda: self._path is not None, cancel)
                raise FetchError(f"{self._subject}: what the server sent first was wrong", transient=True)
            return max(offset, self._length if self._right else self._length - 1)

    def _wait(self, ready: Callable[[], bool], cancel: threading.Event) -> None:
        while not ready():
            if self._error is not None:
                raise FetchError(self._error.reason, self._error.transient)
            if cancel.is_set():
                raise FetchError(f"{self._subject}: cancelled", transient=True)
            self._changed.wait(_TICK)
