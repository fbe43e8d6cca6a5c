"""Judge what images can be built with, from trying it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.doctor.finding import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestrator.images import BuilderName

_BUSY = "call it again: the engine or this host may be busy; where that does not help, restart the engine"
_NAMES = {"classic": "the classic builder", "buildkit": "BuildKit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderSeen:
    """What came of building an image of nothing with one builder."""

    name: str
    works: bool
    late: bool = False
    command: tuple[str, ...] = ()
    """How BuildKit is called, where it works."""
    commands: int = 1
    """How many `docker` programs are on PATH."""


def judge_builders(asked: BuilderName, seen: tuple[BuilderSeen, ...]) -> Iterator[Finding]:
    """Say which builders work; none of those that may be used means that no image can be made."""
    usable = [one for one in seen if one.works and asked in ("auto", one.name)]
    wanted = [one for one in seen if asked in ("auto", one.name)]
    for one in wanted:
        yield _one(one, alone=not usable, asked=asked)


def _one(seen: BuilderSeen, *, alone: bool, asked: str) -> Finding:
    name = _NAMES[seen.name]
    identity = f"builder.{seen.name}"
    if seen.works:
        with_ = f" (`{' '.join(seen.command)}`)" if seen.command else ""
        return Finding(id=identity, level=Level.OK, summary=f"{name} works{with_}")
    why = "did not build an image of nothing in time" if seen.late else "does not build here"
    if seen.name == "buildkit" and not seen.commands:
        why = "cannot be used: there is no docker command on PATH"
    return Finding(
        id=identity,
        level=Level.PROBLEM if alone else Level.NOTE,
        summary=f"{name} {why}" + ("" if alone else ": the other builder is used"),
        hint=_BUSY if seen.late else _hint(seen.name, alone=alone, asked=asked),
        stops=("docker",) if alone else (),
    )


def _hint(name: str, *, alone: bool, asked: str) -> str:
    if name == "buildkit":
        more = ", or leave out --builder" if asked == "buildkit" else ""
        return f"install the buildx plugin (package docker-buildx or docker-buildx-plugin){more}"
    if not alone:
        return "nothing, unless you want --builder classic"
    return "`printf 'FROM scratch\\nLABEL a=b\\n' | DOCKER_BUILDKIT=0 docker build -` says what is wrong"
