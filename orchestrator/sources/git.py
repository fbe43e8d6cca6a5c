"""Call git: no hooks, no questions, no settings of a repository that this process happens to stand in."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from threading import Event

_TICK = 0.2
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "core.autocrlf=false",
    "protocol.ext.allow=never", "gc.auto=0", "maintenance.auto=false",
)  # fmt: skip
# What `git rev-parse --local-env-vars` lists: they would point git elsewhere than its arguments do.
_FOREIGN = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXTERNAL_DIFF",
)  # fmt: skip
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}


class GitError(Exception):
    """git did not do what it was asked; the message is what it said. `missing` where there is no git program."""

    def __init__(self, reason: str, *, stopped: bool = False, missing: bool = False) -> None:
        super().__init__(reason)
        self.stopped = stopped
        self.missing = missing


def run_git(
    arguments: Sequence[str],
    *,
    timeout: float,
    cancel: Event | None = None,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run git and return what it printed; `environment` is added to the host's.

    Raises:
        GitError: it failed, took longer than `timeout` seconds, or `cancel` was set.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    deadline = time.monotonic() + timeout
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                ["git", *settings, *arguments],  # noqa: S607 - the user's git, wherever it is
                env={**variables, **_QUIET, **(environment or {})},
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise GitError("there is no git program on this host", missing=True) from error
        except OSError as error:
            raise GitError(f"git cannot be started: {error}", missing=True) from error
        why = None
        try:
            while why is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_TICK)
                    break
                if cancel is not None and cancel.is_set():
                    why = "cancelled"
                elif time.monotonic() > deadline:
                    why = f"not done after {timeout:.0f} s"
        finally:
            if process.poll() is None:
                # With the helpers that talk to servers, which do not end on their own.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if why is not None:
            raise GitError(f"git was stopped: {why}", stopped=True)
        if process.returncode != 0:
            raise GitError(_said(_text(errors)) or f"git ended with exit status {process.returncode}")
        return _text(output)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _said(text: str) -> str:
    """Return git's own words of what went wrong, on one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))] or lines[-1:]
    return "; ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in told)[:500]
