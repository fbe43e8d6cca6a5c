"""Wheels that will be asked for soon, downloaded while something else is built."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING

from orchestrator.wheels.download import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.model import Distribution, Wheel
    from orchestrator.wheels.cache import WheelCache


class Ahead:
    """Downloads into the cache what is expected, one after the other, and no further ahead than `most` bytes.

    One at a time: builds that are under way come first. A build that asks meanwhile shares the download. What
    cannot be had is left to the build, which can say what it was for.
    """

    def __init__(self, cache: WheelCache, *, most: int) -> None:
        self._cache = cache
        self._most = most
        self._changed = threading.Condition()
        self._waiting: deque[Distribution] = deque()
        self._unused: dict[Wheel, tuple[int, ExitStack]] = {}
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def expect(self, distributions: Iterable[Distribution]) -> None:
        """Download these next, after what is expected already."""
        with self._changed:
            if self._closed.is_set():
                return
            known = {d.wheel for d in self._waiting} | set(self._unused)
            self._waiting.extend(d for d in distributions if d.wheel not in known)
            if self._thread is None and self._waiting:
                self._thread = threading.Thread(target=self._work, name="wheels-ahead", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def used(self, distributions: Iterable[Distribution]) -> None:
        """Take note that these are no longer ahead of anything."""
        with self._changed:
            for distribution in distributions:
                self._waiting = deque(d for d in self._waiting if d.wheel != distribution.wheel)
                _, held = self._unused.pop(distribution.wheel, (0, ExitStack()))
                self._cache.path(distribution)  # used just now: not the next to be evicted
                held.close()
            self._changed.notify_all()

    def close(self) -> None:
        """Stop, and return when the thread is gone."""
        with self._changed:
            self._closed.set()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        for _, held in self._unused.values():
            held.close()
        self._unused.clear()

    def _work(self) -> None:
        while (distribution := self._next()) is not None:
            try:
                self._cache.fetch(distribution, self._closed)
            except FetchError:
                self.used([distribution])

    def _next(self) -> Distribution | None:
        with self._changed:
            while not self._closed.is_set():
                if self._waiting and self._fits(self._waiting[0]):
                    distribution = self._waiting.popleft()
                    held = ExitStack()
                    held.enter_context(self._cache.kept(distribution))
                    self._unused[distribution.wheel] = distribution.size or 0, held
                    return distribution
                self._changed.wait()
            return None

    def _fits(self, distribution: Distribution) -> bool:
        return sum(size for size, _ in self._unused.values()) + (distribution.size or 0) <= self._most
