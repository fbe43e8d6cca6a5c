"""What prebuilt images have installed: read once out of each, and kept by its digest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from orchestrator.execute.port import StepFailedError
from orchestrator.files import write_atomic
from orchestrator.images.inside import read_inside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from orchestrator.execute.port import Base
    from orchestrator.images.engine import Engine

_LIST = "/opt/orchestrator/contents.json"
"""Where `prebuilt.Dockerfile` leaves what the image's Python says that it has."""


class Contents:
    """One small file for each image; they may be deleted at any time."""

    def __init__(self, engine: Engine, directory: Path) -> None:
        self._engine = engine
        self._directory = directory

    def known(self, base: Base) -> Mapping[str, str] | None:
        """Return the distributions of a prepared prebuilt image, name to version; None where it never was here."""
        path = self._directory / f"{base.digest}.json"
        try:
            return _checked(path.read_bytes())
        except (OSError, ValueError):  # not read yet, or damaged
            return self.read(base) if self._engine.image(base.reference) is not None else None

    def read(self, base: Base) -> Mapping[str, str]:
        """Read the list out of a prepared prebuilt image, and keep it.

        Raises:
            StepFailedError: it is not there.
        """
        data = read_inside(self._engine, base.reference, _LIST)
        try:
            found = _checked(data or b"")
        except ValueError:
            raise StepFailedError(f"{base.reference} has no list of its packages at {_LIST}") from None
        self._directory.mkdir(parents=True, exist_ok=True)
        write_atomic(self._directory / f"{base.digest}.json", json.dumps(found, sort_keys=True).encode())
        return found


def _checked(data: bytes) -> dict[str, str]:
    listed = json.loads(data)
    if not isinstance(listed, dict):
        raise ValueError("no mapping")  # noqa: TRY004 - one error for all that is wrong with the file
    return {str(name): str(version) for name, version in listed.items()}
