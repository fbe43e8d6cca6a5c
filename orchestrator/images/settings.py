"""What is chosen about images: by the matrix and on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.errors import EnvironmentUnusableError

BuilderName = Literal["auto", "classic", "buildkit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """Where the Dockerfiles are, where images are shared (`host:port/name`), and how they are built."""

    dockerfiles: Path
    registry: str | None = None
    builder: BuilderName = "auto"


def read_dockerfile(path: Path) -> str:
    """Return the text of one of the matrix's Dockerfiles.

    Raises:
        EnvironmentUnusableError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentUnusableError(
            f"cannot read {path}: {error.strerror}",
            hint="`images.dockerfiles` of the matrix says where the Dockerfiles are; copy `images/` to go with it",
        ) from None
