"""What bases were found before, so that a second run need not ask."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from filelock import FileLock

from orchestrator.files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orchestrator.model import BaseImage


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One base: what it is by content and where it came from."""

    identity: str
    way: str
    words: str
    when: str = ""
    origin: str = ""
    """Where a Dockerfile of the matrix was built on another image: what that is by content."""
    recipe: str = ""
    """The digest of that Dockerfile with its arguments."""


class Memory:
    """A small JSON file beside the other caches; it may be deleted at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes and threads from finding the same base at the same time."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._path.with_suffix(".lock"), is_singleton=False, thread_local=False):
            yield

    def get(self, image: BaseImage) -> Remembered | None:
        """Return what is known of an image."""
        entry = self._read().get(image.key)
        try:
            return Remembered(**entry) if entry is not None else None
        except TypeError:  # written by another version of this program
            return None

    def put(self, image: BaseImage, remembered: Remembered) -> None:
        """Keep what was found; the file is replaced at once or not at all."""
        entries = self._read()
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entries[image.key] = asdict(remembered) | {"when": when}
        write_atomic(self._path, json.dumps(entries, indent=1, sort_keys=True).encode())

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            entries = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # not there yet, or damaged: found again then
            return {}
        return entries if isinstance(entries, dict) else {}
