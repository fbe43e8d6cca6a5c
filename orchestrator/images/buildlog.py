"""The output of one preparation: all of it in a file, the end of it at hand."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

_TAIL_LINES = 80
_LINE = 2000
_FILE = 8 * 1024 * 1024


class BuildLog:
    """Keeps what a builder prints; a context manager, and a callable that takes one line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._room = _FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w", encoding="utf-8", errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __call__(self, line: str) -> None:
        """Add one line."""
        line = line[:_LINE]
        self._tail.append(line)
        self._room -= len(line) + 1
        if self._room >= 0:
            self._file.write(line + "\n")
            self._file.flush()

    @property
    def tail(self) -> str:
        """The last lines."""
        return "\n".join(self._tail)
