"""The certificates of the host, where builds need them to get through a proxy that rewrites TLS.

A bundle is public data. It lies in the build context and is deleted by the instruction that used it: a copy stays
readable in the layer below, nothing of it is left in the file system or the settings that a probe sees.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from orchestrator.certificates import ASKED, ca_bundle
from orchestrator.files import write_atomic


class Certificates:
    """Whether builds get the host's bundle: where the user asks, and after TLS has failed without it."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._guard = threading.Lock()
        named = os.environ.get(ASKED)
        self.bundle: Path | None = Path(named) if named else self._remembered()

    def adopt(self, failed_with: Path | None) -> Path | None:
        """Return the bundle to try after TLS failed with another one or none; None where nothing else is left.

        Of builds that fail side by side, the first finds the bundle and the others try again with it.
        """
        with self._guard:
            found = ca_bundle() if self.bundle is None else None
            if found is not None and found.is_file():  # a directory of certificates cannot be handed over
                self.bundle = found
                write_atomic(self._memory, f"{found}\n".encode())
            return self.bundle if self.bundle != failed_with else None

    def _remembered(self) -> Path | None:
        """Return what an earlier run found to be needed, unless it is gone."""
        try:
            path = Path(self._memory.read_text(encoding="utf-8").strip())
        except (OSError, ValueError):
            return None
        return path if path.is_file() else None
