"""Find uv and the interpreters of this host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from uv import find_uv_bin

from orchestrator.doctor.interpreters import InterpretersSeen, UvSeen
from orchestrator.execute.interpreter import installed
from orchestrator.uv import UvError, run_uv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

_TIMEOUT = 5.0
_NO_DOWNLOADS = ("never", "manual")


def look_at_uv(cancel: Event) -> UvSeen:
    """Return which uv is used and what it calls itself."""
    try:
        path = find_uv_bin()
    except FileNotFoundError as error:
        return UvSeen(path=None, trouble=str(error))
    try:
        said = run_uv(["--version"], timeout=_TIMEOUT, cancel=cancel)
    except UvError as error:
        return UvSeen(path=path, trouble=f"{error}: {error.output.strip()}".rstrip(": "))
    return UvSeen(path=path, version=said.strip())


def look_at_interpreters(pythons: Sequence[str], cancel: Event) -> InterpretersSeen:
    """Return where the interpreters are that uv finds; it is not asked to download any."""
    found: dict[str, str | None] = {}
    for python in pythons:
        if cancel.is_set():
            break
        try:
            found[python] = installed(python, timeout=_TIMEOUT)
        except UvError:
            found[python] = None
    return InterpretersSeen(found=found, downloads=os.environ.get("UV_PYTHON_DOWNLOADS") not in _NO_DOWNLOADS)
