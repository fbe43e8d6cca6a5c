"""Directories of tests that another user is to look into."""

from __future__ import annotations

import tempfile
from pathlib import Path


def opened(directory: Path) -> None:
    """Let everybody into a directory below the one for temporary files."""
    top = Path(tempfile.gettempdir())
    for one in (directory, *directory.parents):
        if one.is_relative_to(top) and one != top:
            one.chmod(0o755)
