"""What is chosen about images: by the matrix and on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

BuilderName = Literal["auto", "classic", "buildkit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """Where the Dockerfiles are, where images are shared (`host:port/name`), and how they are built."""

    dockerfiles: Path
    registry: str | None = None
    builder: BuilderName = "auto"
