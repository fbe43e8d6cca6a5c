"""A process with everything it starts, as one thing that can be waited for and ended."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.execute.console import Console

MARK = "ORCHESTRATOR_PROCESS"
"""Set to a value of its own in every process group, by which stragglers are found."""

_LOG_GRACE = 2.0
_CHUNK = 64 * 1024


class ProcessGroup:
    """A process in a session of its own; a `Target` for the ladder. `holds` are open files that it keeps open.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: Path,
        console: Console,
        holds: Sequence[int] = (),
    ) -> None:
        self._mark = f"{MARK}={secrets.token_hex(8)}"
        name, _, value = self._mark.partition("=")
        self._process = subprocess.Popen(
            list(argv),
            env={**environment, name: value},
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
            pass_fds=holds,
        )
        self._reader = threading.Thread(target=self._read, args=(console,), daemon=True)
        self._reader.start()

    def ended(self, wait: float) -> bool:
        """Wait up to so many seconds; tell whether the process itself has ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        return self._process.returncode is not None

    def send(self, number: signal.Signals) -> None:
        """Signal the process, which passes it on as it sees fit; SIGKILL goes to all it has started."""
        with suppress(ProcessLookupError, PermissionError):  # all gone, or all that is left is another's
            if number is not signal.SIGKILL:
                self._process.send_signal(number)
                return
            os.killpg(self._process.pid, number)
        for pid in marked(self._mark):
            with suppress(ProcessLookupError, PermissionError):  # gone in the meantime
                os.kill(pid, number)

    def status(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    def close(self) -> None:
        """End what is left of it and stop listening; who holds the log open elsewhere cannot keep us."""
        self.send(signal.SIGKILL)
        self._reader.join(_LOG_GRACE)
        if not self._reader.is_alive() and self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self, console: Console) -> None:
        if self._process.stdout is not None:
            with suppress(OSError, ValueError):  # closed under our hands: the log is what came until then
                while chunk := self._process.stdout.read(_CHUNK):
                    console.write(chunk)


def marked(mark: str) -> list[int]:
    """Return the processes that carry a setting in their environment: children that left the process group too.

    Empty where the system has no `/proc` to look this up in.
    """
    wanted = mark.encode()
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended in the meantime, or another user's
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found
