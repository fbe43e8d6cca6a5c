"""Judge uv, without which nothing is resolved, and the interpreters for virtual environments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.doctor.finding import BOTH, Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator

_REINSTALL = "install the program again with its dependencies: `python -m pip install --force-reinstall uv`"


@dataclass(frozen=True, slots=True, kw_only=True)
class UvSeen:
    """The uv that belongs to this program."""

    path: str | None
    version: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretersSeen:
    """Which Python versions of the matrix have an interpreter here, and where."""

    found: Mapping[str, str | None]
    downloads: bool
    """uv may download one that is missing."""


def judge_uv(seen: UvSeen) -> Finding:
    """Judge uv; a run in either runtime resolves with it."""
    if seen.path is not None and not seen.trouble:
        return Finding(id="uv", level=Level.OK, summary=f"{seen.version} at {seen.path}")
    return Finding(
        id="uv",
        level=Level.PROBLEM,
        summary=f"uv does not run: {seen.trouble}" if seen.path else f"uv is not found: {seen.trouble}",
        hint=_REINSTALL,
        stops=BOTH,
    )


def judge_interpreters(seen: InterpretersSeen) -> Iterator[Finding]:
    """Say which Python versions virtual environments can have; with none of them there can be no environment."""
    lost = not seen.downloads and not any(seen.found.values())
    for python, path in seen.found.items():
        identity = f"python.{python}"
        if path is not None:
            yield Finding(id=identity, level=Level.OK, summary=f"Python {python} at {path}")
        elif seen.downloads:
            yield Finding(
                id=identity,
                level=Level.NOTE,
                summary=f"no Python {python} here: for virtual environments uv would download one",
                hint=f"`uv python install {python}` does so now",
            )
        else:
            yield Finding(
                id=identity,
                level=Level.PROBLEM,
                summary=f"no Python {python} here, and UV_PYTHON_DOWNLOADS keeps uv from downloading one",
                hint=f"install Python {python}, or unset UV_PYTHON_DOWNLOADS",
                stops=("venv",) if lost else (),
            )
