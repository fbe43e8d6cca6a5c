"""Keep the head and the tail of a console log of any length."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 1024 * 1024
TAIL = 1024 * 1024


class Console:
    """A bounded log: the head goes to its file as it comes, the tail is added when it is closed."""

    def __init__(self, path: Path, *, head: int = HEAD, tail: int = TAIL) -> None:
        self._file = path.open("wb", buffering=0)
        self._head = bytearray()
        self._head_size = head
        self._tail = bytearray()
        self._tail_size = tail
        self._dropped = 0
        self._closed = False
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        """Add output; after `close` it is ignored, a reader may come late."""
        with self._lock:
            if self._closed:
                return
            first = data[: self._head_size - len(self._head)]
            if first:
                self._head += first
                self._file.write(first)
            self._tail += data[len(first) :]
            # Trimming at twice the size keeps the cost of a byte constant.
            if len(self._tail) > 2 * self._tail_size:
                self._trim()

    def close(self) -> str:
        """Finish the file and return what was kept as text."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._trim()
                if self._dropped:
                    self._tail[:0] = b"\n[... %d bytes left out ...]\n" % self._dropped
                self._file.write(self._tail)
                self._file.close()
            return bytes(self._head + self._tail).decode(errors="replace")

    def _trim(self) -> None:
        excess = len(self._tail) - self._tail_size
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess
