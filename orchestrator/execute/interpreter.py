"""The Python interpreters of this host: which one serves a version, and what makes it the one it is."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.port import Base
from orchestrator.files import write_atomic
from orchestrator.model import digest
from orchestrator.uv import UvError, run_uv

if TYPE_CHECKING:
    from collections.abc import Callable

_INSTALL_TIMEOUT = 600.0
_ASK_TIMEOUT = 60.0
_IDENTITY = """
import json, platform, sys, sysconfig
json.dump([sys.implementation.name, sys.version, sysconfig.get_platform(), list(platform.libc_ver())], sys.stdout)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    path: str
    modified: int
    identity: str


class Interpreters:
    """Finds interpreters, and remembers them for as long as their files stay what they are."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory

    def find(self, python: str, say: Callable[[str], None]) -> Base:
        """Return the interpreter of one Python version; uv gets one where this host has none.

        Raises:
            EnvironmentUnusableError: there is none, and none can be had.
        """
        known = self._read().get(python)
        if known is None or _modified(known.path) != known.modified:
            known = self._search(python, say)
        return Base(
            python=python,
            digest=digest(["interpreter", known.identity]),
            reference=known.path,
            origin=f"interpreter {known.path}",
        )

    def _search(self, python: str, say: Callable[[str], None]) -> _Known:
        path = _locate(python, say)
        known = _Known(path=path, modified=_modified(path), identity=_identify(path))
        self._memory.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._memory.with_suffix(".lock")):
            entries = self._read() | {python: known}
            write_atomic(self._memory, json.dumps({k: asdict(v) for k, v in entries.items()}, indent=1).encode())
        return known

    def _read(self) -> dict[str, _Known]:
        try:
            entries = json.loads(self._memory.read_text(encoding="utf-8"))
            return {python: _Known(**entry) for python, entry in entries.items()}
        except (OSError, ValueError, TypeError, AttributeError):  # not there yet, or of another version
            return {}


def _locate(python: str, say: Callable[[str], None]) -> str:
    """Return the path of an interpreter that is here, else of one that uv downloads."""
    try:
        return installed(python)
    except UvError as missing:
        say(f"no Python {python} on this host; asking uv to install one")
        try:
            run_uv(["python", "install", python], timeout=_INSTALL_TIMEOUT)
            return installed(python)
        except UvError as error:
            raise EnvironmentUnusableError(
                f"no Python {python} here ({_said(missing)}), and uv cannot install one ({_said(error)})",
                hint=f"install Python {python}, or use --runtime docker",
            ) from error


def installed(python: str, *, timeout: float = _ASK_TIMEOUT) -> str:
    """Return the path of this host's interpreter for a Python version; nothing is downloaded.

    Raises:
        UvError: there is none.
    """
    lines = run_uv(
        ["python", "find", "--no-project", "--system", "--no-python-downloads", python], timeout=timeout
    )
    return lines.strip().splitlines()[-1]


def _identify(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "-I", "-c", _IDENTITY], capture_output=True, timeout=_ASK_TIMEOUT, check=True, text=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentUnusableError(f"the interpreter {path} does not run: {error}") from error
    return done.stdout


def _modified(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


def _said(error: UvError) -> str:
    lines = [line.strip() for line in error.output.splitlines() if line.strip()]
    return lines[-1].removeprefix("error: ") if lines else str(error)
