"""The rehearsal of a sharded run, as `.ci/rehearse` plays it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]


def rehearse(work: Path, runtime: str, shards: int, selection: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Plan, run every shard in a checkout of its own, merge, and compare with a run without shards."""
    return subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "rehearse"), "--shards", str(shards), "--runtime", runtime,
         "--work", str(work), "--", *selection],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )  # fmt: skip
