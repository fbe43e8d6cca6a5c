"""Call the uv that this program depends on."""

from __future__ import annotations

import os
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


class UvError(Exception):
    """uv did not do what it was asked; `output` is the end of what it said."""

    def __init__(self, reason: str, *, output: str = "", stopped: bool = False) -> None:
        super().__init__(reason)
        self.output = output
        self.stopped = stopped


def run_uv(
    arguments: Sequence[str],
    *,
    timeout: float,
    cancel: Event | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run uv and return what it printed, in the host's environment without uv's files of settings or in another.

    Raises:
        UvError: it failed, took too long, or `cancel` was set.
    """
    deadline = time.monotonic() + timeout
    variables = os.environ | {"UV_NO_CONFIG": "1"} if environment is None else environment
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [find_uv_bin(), *arguments],
                env={**variables, "UV_NO_PROGRESS": "1", "NO_COLOR": "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
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
            process.kill()
            process.wait()
        output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL))
        text = output.read().decode(errors="replace")
    if why is not None:
        raise UvError(f"uv was stopped: {why}", output=text, stopped=True)
    if process.returncode != 0:
        raise UvError(f"uv ended with exit status {process.returncode}", output=text)
    return text
