"""A process with everything it starts, as one thing that can be waited for and ended."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from orchestrator.execute.console import Console

_LOG_GRACE = 2.0
_CHUNK = 64 * 1024


class ProcessGroup:
    """A process in a session of its own; a `Target` for the ladder.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self, argv: Sequence[str], *, environment: Mapping[str, str], directory: Path, console: Console
    ) -> None:
        self._process = subprocess.Popen(
            list(argv),
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(console,), daemon=True)
        self._reader.start()

    def ended(self, wait: float) -> bool:
        """Wait up to so many seconds; tell whether the process itself has ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        return self._process.returncode is not None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        with suppress(ProcessLookupError, PermissionError):  # all gone, or all that is left is another's
            os.killpg(self._process.pid, number)

    def status(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    def close(self, kill: signal.Signals) -> None:
        """End what is left of the group and stop listening; a grandchild elsewhere cannot keep us."""
        self.send(kill)
        self._reader.join(_LOG_GRACE)
        if not self._reader.is_alive() and self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self, console: Console) -> None:
        if self._process.stdout is not None:
            with suppress(OSError, ValueError):  # closed under our hands: the log is what came until then
                while chunk := self._process.stdout.read(_CHUNK):
                    console.write(chunk)
