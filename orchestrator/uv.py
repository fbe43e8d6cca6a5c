"""Call the uv that this program depends on."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from uv import find_uv_bin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from threading import Event

_TICK = 0.2
_TAIL = 16 * 1024
# Settings of the caller's shell that would bend an answer without a trace in the lock.
_FOREIGN_SETTINGS = (
    "UV_EXCLUDE_NEWER", "UV_RESOLUTION", "UV_PRERELEASE", "UV_CONSTRAINT", "UV_OVERRIDE", "UV_EXTRA_INDEX_URL",
    "UV_INDEX", "UV_INDEX_STRATEGY", "UV_FIND_LINKS", "UV_TORCH_BACKEND", "UV_PYTHON", "VIRTUAL_ENV",
)  # fmt: skip


class UvError(Exception):
    """uv did not do what it was asked; `output` is the end of what it said."""

    def __init__(self, reason: str, *, output: str = "", stopped: bool = False) -> None:
        super().__init__(reason)
        self.output = output
        self.stopped = stopped


def neutral_environment() -> dict[str, str]:
    """Return the host's environment without what would bend the choice of versions."""
    return {name: value for name, value in os.environ.items() if name not in _FOREIGN_SETTINGS}


def run_uv(
    arguments: Sequence[str],
    *,
    timeout: float,
    cancel: Event | None = None,
    environment: Mapping[str, str] | None = None,
    own_session: bool = False,
) -> str:
    """Run uv and return what it printed, in the host's environment without uv's files of settings or in another.

    With `own_session`, what uv has started is ended with it.

    Raises:
        UvError: it failed, took too long, or `cancel` was set.
    """
    deadline = time.monotonic() + timeout
    variables = os.environ | {"UV_NO_CONFIG": "1"} if environment is None else environment
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [find_uv_bin(), *arguments],
                # A narrow terminal of the user's would break what it says in the middle.
                env={**variables, "UV_NO_PROGRESS": "1", "NO_COLOR": "1", "COLUMNS": "10000"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=own_session,
            )
        except OSError as error:
            raise UvError(f"uv cannot be started: {error}") from error
        why = None
        while why is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_TICK)
                break
            if cancel is not None and cancel.is_set():
                why = "cancelled"
            elif time.monotonic() > deadline:
                why = f"not done after {timeout:.0f} s"
        if why is not None:
            if own_session:
                os.killpg(process.pid, signal.SIGKILL)  # not reaped yet: the group is there
            process.kill()
            process.wait()
        output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL))
        text = output.read().decode(errors="replace")
    if why is not None:
        raise UvError(f"uv was stopped: {why}", output=text, stopped=True)
    if process.returncode != 0:
        raise UvError(f"uv ended with exit status {process.returncode}", output=text)
    return text
