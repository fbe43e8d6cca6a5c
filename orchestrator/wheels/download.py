"""One wheel from a server into a file, whatever the network does on the way."""

from __future__ import annotations

import errno
import hashlib
import random
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from orchestrator.certificates import ca_bundle
from orchestrator.wheels.naming import described
from orchestrator.wheels.setbacks import TRANSIENT, Setback, answered, of_error, retry_after

if TYPE_CHECKING:
    from io import FileIO
    from threading import Event

    from requests import Response, Session

BLOCK = 1 << 20
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_OK, _PARTIAL, _UNSATISFIABLE, _SERVER_ERROR = 200, 206, 416, 500


class FetchError(Exception):
    """A wheel cannot be had; one line that names the file and its host. `transient` is what a retry may cure."""

    def __init__(self, reason: str, transient: bool) -> None:  # noqa: FBT001 - the second half of what it says
        super().__init__(reason)
        self.reason = reason
        self.transient = transient


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a download is kept up; all times in seconds."""

    connect: float = 10.0
    read: float = 30.0
    """Without a byte for so long, a server has stalled."""
    tries: int = 5
    """Tries in a row that bring nothing new before it is given up."""
    pause: float = 0.5
    """Before the second try; it doubles with every further one, and varies by half."""
    longest_pause: float = 60.0
    """However long a server asks to be left alone (Retry-After)."""


def is_full(error: OSError) -> bool:
    """Tell whether there is no space left, or none for this user."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def not_written(url: str, error: OSError) -> FetchError:
    """Say what the disk had against a wheel."""
    reason = "the disk is full" if is_full(error) else f"it cannot be written: {error.strerror}"
    return FetchError(f"{described(url)}: {reason}", transient=False)


class Follower(Protocol):
    """Who follows a download, in the thread that downloads."""

    def started(self, total: int | None) -> None:
        """Note that the server answers, and how long the wheel is, in bytes, if it says so."""
        ...

    def grew(self, length: int, received: int) -> None:
        """Note that the file is `length` bytes long now, `received` of them new from the network."""
        ...

    def dropped(self, *, wrong: bool) -> None:
        """Note that the file is about to be empty again; `wrong` where its content was not the wheel's."""
        ...


def download(
    url: str,
    file: FileIO,
    *,
    sha256: str,
    size: int | None,
    follower: Follower,
    cancel: Event,
    patience: Patience | None = None,
) -> None:
    """Complete a file, unbuffered and open for reading and writing, that may hold the start of a wheel already.

    When it returns, the content has that SHA-256. What a broken download has brought stays in the file. `size`
    counts only where the server does not say how much it sends.

    Raises:
        FetchError: it cannot be had, the disk is full, or `cancel` was set.
    """
    _Download(url, file, sha256, size, follower, cancel, patience or Patience()).run()


class _Download:
    def __init__(
        self,
        url: str,
        file: FileIO,
        sha256: str,
        size: int | None,
        follower: Follower,
        cancel: Event,
        patience: Patience,
    ) -> None:
        self._url = url.partition("#")[0]
        self._file = file
        self._sha256 = sha256
        self._size = size
        self._follower = follower
        self._cancel = cancel
        self._patience = patience
        self._hash = hashlib.sha256()
        self._length = 0
        self._etag: str | None = None
        self._resumable = True

    def run(self) -> None:
        try:
            self._take_up()
            if self._right():
                self._follower.started(self._length)
                return
            from orchestrator.wheels.transport import session  # noqa: PLC0415 - requests takes a while to import

            with session(self._cancel) as line:
                self._persist(line)
        except OSError as error:
            if is_full(error):
                with suppress(OSError):
                    self._drop(wrong=False)  # others may go on with the space
            raise not_written(self._url, error) from None

    def _persist(self, line: Session) -> None:
        fresh = False
        failures, furthest = 0, self._length
        while True:
            try:
                self._receive(line)
            except Setback as setback:
                if self._length > furthest:
                    failures, furthest = 0, self._length
                failures += 1
                if self._cancel.is_set() or not setback.transient or failures >= self._patience.tries:
                    raise self._error(str(setback), transient=setback.transient) from None
                if fresh or not self._resumable:
                    self._drop(wrong=False)
                self._rest(failures, setback.after)
                continue
            if self._right():
                return
            self._drop(wrong=True)
            if fresh:
                raise self._error(
                    "what the server has is not the wheel of the lock (wrong SHA-256)", transient=False
                )
            # The parts of a resumed file may come from different files: once more, in one piece.
            fresh = True

    def _receive(self, line: Session) -> None:
        """Take what one answer brings; returns where the server says that this is all of it."""
        from requests import RequestException  # noqa: PLC0415

        headers = {"Accept-Encoding": "identity"}
        if self._length:
            headers["Range"] = f"bytes={self._length}-"
            if self._etag is not None:
                headers["If-Range"] = self._etag
        bundle = ca_bundle()
        try:
            with line.get(
                self._url,
                headers=headers,
                stream=True,
                timeout=(self._patience.connect, self._patience.read),
                # Named here, because requests itself does not read all the variables that name one.
                verify=True if bundle is None else str(bundle),
            ) as response:
                total = self._begin(response)
                self._follower.started(total)
                for block in response.iter_content(BLOCK):
                    self._write(block)
                    self._stop_where_cancelled()
        except RequestException as error:
            self._stop_where_cancelled()
            raise of_error(error) from None
        self._stop_where_cancelled()
        expected = total if total is not None else self._size
        if expected is not None and self._length < expected:
            raise Setback(f"the connection ended after {self._length} of {expected} bytes")

    def _begin(self, response: Response) -> int | None:
        """Make the file ready for the body of an answer, and return how long the whole wheel is."""
        status, fields = response.status_code, response.headers
        if status == _UNSATISFIABLE and self._length:
            self._drop(wrong=True)
            raise Setback("the server does not have what is missing of it", after=0.0)
        if status in TRANSIENT or status >= _SERVER_ERROR:
            raise Setback(answered(response), after=retry_after(fields.get("Retry-After")))
        encoded = fields.get("Content-Encoding", "identity").lower() != "identity"
        self._resumable = not encoded
        if status == _PARTIAL:
            span = _RANGE.fullmatch(fields.get("Content-Range", ""))
            if encoded or span is None or int(span[1]) != self._length:
                self._drop(wrong=False)
                raise Setback("the server sends another part of it than was asked for", after=0.0)
            return int(span[2]) + 1 if span[3] == "*" else int(span[3])
        if status != _OK:
            raise Setback(answered(response), transient=False)
        if self._length:
            self._drop(wrong=False)
        etag = fields.get("ETag")
        self._etag = etag if etag and etag.startswith('"') else None
        length = fields.get("Content-Length", "")
        return int(length) if length.isdecimal() and not encoded else None

    def _take_up(self) -> None:
        self._file.seek(0)
        while block := self._file.read(BLOCK):
            self._stop_where_cancelled()
            self._hash.update(block)
            self._length += len(block)
        self._follower.grew(self._length, 0)

    def _write(self, block: bytes) -> None:
        rest = memoryview(block)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._hash.update(block)
        self._length += len(block)
        self._follower.grew(self._length, len(block))

    def _drop(self, *, wrong: bool) -> None:
        self._follower.dropped(wrong=wrong)
        self._hash = hashlib.sha256()
        self._length = 0
        self._etag = None
        self._file.seek(0)
        self._file.truncate()

    def _right(self) -> bool:
        return self._hash.hexdigest() == self._sha256

    def _rest(self, failures: int, after: float | None) -> None:
        pause = self._patience.pause * 2 ** (failures - 1) * random.uniform(0.5, 1.5)  # noqa: S311
        self._cancel.wait(min(pause if after is None else after, self._patience.longest_pause))
        self._stop_where_cancelled()

    def _stop_where_cancelled(self) -> None:
        if self._cancel.is_set():
            raise self._error("cancelled", transient=True)

    def _error(self, reason: str, *, transient: bool) -> FetchError:
        return FetchError(f"{described(self._url)}: {reason}", transient)
