"""The port behind which images are built, and what it is given."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

OURS = ("/opt/uv/uv", "/opt/orchestrator")
"""Text of which every instruction of ours with a weight contains some: how its cache records are recognised."""

_SPOOL = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One image to build: a Dockerfile, the files beside it, and what the image is called."""

    tag: str
    key: str
    dockerfile: str
    files: Mapping[str, bytes | Path] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    network: str | None = None
    """The network that its instructions are on; the engine's default when None."""

    def context(self) -> IO[bytes]:
        """Return the build context as a tar stream; equal builds give equal streams."""
        # The caller closes it; a with statement here would close it too early.
        spool = tempfile.SpooledTemporaryFile(max_size=_SPOOL)  # noqa: SIM115
        with tarfile.open(fileobj=spool, mode="w", format=tarfile.PAX_FORMAT) as tar:
            _add(tar, "Dockerfile", self.dockerfile.encode(), executable=False)
            for name in sorted(self.files):
                _add(tar, name, self.files[name], executable=name == "uv")
        spool.seek(0)
        return spool


class BuildError(Exception):
    """A build did not end with an image. `transient` where the engine went away, not the recipe's fault."""

    def __init__(self, reason: str, *, transient: bool = False, stopped: bool = False) -> None:
        super().__init__(reason)
        self.transient = transient
        self.stopped = stopped
        """True where we ended it: its time was up, or somebody cancelled."""


class Builder(Protocol):
    """Builds images into the engine."""

    name: str

    def build(self, build: Build, *, line: Callable[[str], None], timeout: float, cancel: Event) -> None:
        """Build and tag one image; `line` gets the output. Nothing of a failed build stays behind.

        Raises:
            BuildError: there is no image.
        """
        ...


def _add(tar: tarfile.TarFile, name: str, content: bytes | Path, *, executable: bool) -> None:
    info = tarfile.TarInfo(name)
    info.mode = 0o755 if executable else 0o644
    if isinstance(content, Path):
        info.size = content.stat().st_size
        with content.open("rb") as file:
            tar.addfile(info, file)
    else:
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
