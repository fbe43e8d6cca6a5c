"""All wheels that builds have downloaded, once each, within a limit of disk space."""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from orchestrator.wheels.download import FetchError, Patience, download, not_written
from orchestrator.wheels.flight import Flight
from orchestrator.wheels.naming import checked_sha256, described, wheel_name
from orchestrator.wheels.requirements import local_path
from orchestrator.wheels.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from pathlib import Path
    from threading import Event

    from orchestrator.model import Distribution


class Reading:
    """A wheel that is being read, whole or still growing."""

    def __init__(self, file: FileIO, flight: Flight | None, cancel: Event) -> None:
        self.file = file
        self._flight = flight
        self._cancel = cancel
        self._content = 0 if flight is None else flight.content
        self._length = os.fstat(file.fileno()).st_size

    @property
    def size(self) -> int | None:
        """How long the whole wheel is, in bytes; None as long as nobody says so."""
        return self._length if self._flight is None else self._flight.total

    def available(self, offset: int) -> int:
        """Wait until there is more than `offset` to read, and return how far; `offset` itself where that is all.

        Raises:
            FetchError: there will not be more, or what was read so far is not the wheel's.
        """
        if self._flight is None:
            return max(offset, self._length)
        return self._flight.available(offset, self._content, self._cancel)


class WheelCache:
    """Wheels by their SHA-256 below `root`, with a read-only `bundle` of the same layout in front of them.

    At most `limit` bytes stay on disk; what was used longest ago goes first. A wheel of which somebody in this
    process still reads stays, the others go whenever it has to be. Safe to use from several threads; several
    processes may share one root.
    """

    def __init__(
        self, root: Path, *, limit: int, bundle: Path | None = None, patience: Patience | None = None
    ) -> None:
        self._shelf = Shelf(root)
        self._bundle = None if bundle is None else Shelf(bundle)
        self._limit = limit
        self._patience = patience
        self._guard = threading.Lock()
        self._flights: dict[tuple[str, str], Flight] = {}
        self._threads: dict[threading.Thread, Flight] = {}
        self._readers: Counter[str] = Counter()
        self._crowded = False
        self._downloaded = 0

    @property
    def limit(self) -> int:
        """At most so many bytes stay on disk."""
        return self._limit

    @property
    def downloaded(self) -> int:
        """Bytes that came over the network through this object."""
        with self._guard:
            return self._downloaded

    def path(self, distribution: Distribution) -> Path | None:
        """Return where a wheel lies already: its own file, the bundle or the cache; None where it is nowhere."""
        own = local_path(distribution)
        if own is not None:
            return own if own.is_file() else None
        try:
            name = _name(distribution)
        except FetchError:
            return None
        if self._bundle is not None:
            bundled = self._bundle.place(distribution.sha256, name)
            if bundled.is_file():
                return bundled
        path = self._shelf.place(distribution.sha256, name)
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        except OSError:
            return path if path.is_file() else None  # a root that cannot be written to still serves
        return path

    def given(self, distribution: Distribution) -> Path | None:
        """Return where a wheel lies that need not be downloaded: its own file, or the bundle's."""
        path = self.path(distribution)
        return None if path is None or path.is_relative_to(self._shelf.root) else path

    def fetch(self, distribution: Distribution, cancel: Event) -> Path:
        """Return where a wheel lies, downloaded where it has to be. Open it soon: only readers keep it.

        Raises:
            FetchError: it cannot be had, or `cancel` was set.
        """
        path = self.path(distribution)
        if path is not None:
            return path
        with self._joined(distribution) as flight:
            return flight.result(cancel)

    @contextmanager
    def open(self, distribution: Distribution, cancel: Event) -> Iterator[Reading]:
        """Give a wheel for reading as soon as its first bytes can be told: whole, or while it is downloaded.

        Raises:
            FetchError: it cannot be had, or `cancel` was set.
        """
        with self._read(distribution.sha256):
            while True:
                path = self.path(distribution)
                if path is not None:
                    file = _opened(path)
                    if file is None:  # another process has just evicted it
                        continue
                    with file:
                        yield Reading(file, None, cancel)
                    return
                with self._joined(distribution) as flight:
                    if flight.begun(cancel) is not None:
                        continue
                    file = self._shelf.open_partial(distribution.sha256, flight.inode)
                    if file is None:  # it is whole by now
                        flight.result(cancel)
                        continue
                    with file:
                        yield Reading(file, flight, cancel)
                    return

    @contextmanager
    def kept(self, distribution: Distribution) -> Iterator[None]:
        """Keep a wheel from being evicted by this process, there or still to come."""
        with self._read(distribution.sha256):
            yield

    def size(self) -> int:
        """Return the bytes of all wheels in the cache, the parts of unfinished downloads included."""
        return self._shelf.size()

    def clear(self) -> None:
        """Remove everything that is not being read or downloaded."""
        self._evict(0)

    def settle(self) -> None:
        """Wait until the threads of all downloads that have ended, or that nobody wants any more, are gone."""
        with self._guard:
            threads = [thread for thread, flight in self._threads.items() if flight.cancel.is_set()]
        for thread in threads:
            thread.join()

    @contextmanager
    def _read(self, sha256: str) -> Iterator[None]:
        with self._guard:
            self._readers[sha256] += 1
        try:
            yield
        finally:
            with self._guard:
                self._readers[sha256] -= 1
                last = self._readers[sha256] == 0
                if last:
                    del self._readers[sha256]
                crowded = self._crowded
            if last and crowded:
                self._evict(self._limit)

    @contextmanager
    def _joined(self, distribution: Distribution) -> Iterator[Flight]:
        if local_path(distribution) is not None:
            raise FetchError(f"{described(distribution.url)}: the file is not there", transient=False)
        key = distribution.sha256, _name(distribution)
        with self._guard:
            flight = self._flights.get(key)
            if flight is None or flight.cancel.is_set():
                flight = self._flights[key] = self._departed(distribution)
            flight.users += 1
        try:
            yield flight
        finally:
            with self._guard:
                flight.users -= 1
                if flight.users == 0:
                    flight.cancel.set()

    def _departed(self, distribution: Distribution) -> Flight:
        flight = Flight(described(distribution.url), self._make_room, self._count)
        thread = threading.Thread(target=self._fly, args=(distribution, flight), name="wheel", daemon=True)
        thread.start()
        self._threads = {other: f for other, f in self._threads.items() if other.is_alive()} | {thread: flight}
        return flight

    def _fly(self, distribution: Distribution, flight: Flight) -> None:
        """Bring one wheel in: the thread of a flight."""
        subject = described(distribution.url)
        name, sha256 = _name(distribution), distribution.sha256
        try:
            with self._shelf.partial(sha256, subject, flight.cancel) as file:
                path = self._shelf.place(sha256, name)
                if not path.is_file():  # another process may have been first
                    flight.inode = os.fstat(file.fileno()).st_ino
                    download(
                        distribution.url,
                        file,
                        sha256=sha256,
                        size=distribution.size,
                        follower=flight,
                        cancel=flight.cancel,
                        patience=self._patience,
                    )
                    flight.verified()
                    path = self._shelf.keep(file, sha256, name)
            # Who waits has not opened it yet.
            self._evict(self._limit, spare=None if flight.cancel.is_set() else sha256)
            flight.landed(path)
        except FetchError as error:
            flight.failed(error)
        except OSError as error:
            flight.failed(not_written(distribution.url, error))
        finally:
            flight.failed(FetchError(f"{subject}: the download has stopped", transient=True))
            with self._guard:
                if self._flights.get((sha256, name)) is flight:
                    del self._flights[sha256, name]

    def _make_room(self) -> None:
        with self._guard:
            flights = tuple(self._flights.values())
        self._evict(self._limit, needed=sum(flight.missing for flight in flights))

    def _evict(self, limit: int, *, needed: int = 0, spare: str | None = None) -> None:
        with self._guard:
            spared = {*self._readers, *([spare] if spare else [])}
        with suppress(OSError):  # a cache that cannot be written to does not grow either
            fits = self._shelf.evict(limit, needed=needed, spare=spared)
            with self._guard:
                self._crowded = not fits

    def _count(self, received: int) -> None:
        with self._guard:
            self._downloaded += received


def _name(distribution: Distribution) -> str:
    try:
        checked_sha256(distribution.sha256)
        return wheel_name(distribution.url)
    except ValueError as error:
        raise FetchError(str(error), transient=False) from None


def _opened(path: Path) -> FileIO | None:
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FetchError(f"{path.name}: it cannot be read: {error.strerror}", transient=False) from None
