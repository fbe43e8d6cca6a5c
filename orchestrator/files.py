"""Writing files so that a reader sees the old content or the new, never a part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def write_atomic(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Replace a file's content in one step that survives a crash; makes the directory where it is missing.

    Pieces are written as they come.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def tag_cache(directory: Path) -> None:
    """Tell backup programs that a directory holds what can be had again (https://bford.info/cachedir)."""
    tag = directory / "CACHEDIR.TAG"
    if not tag.exists():
        write_atomic(tag, b"Signature: 8a477f597d28d172789f06886806bc55\n")
