"""Judge what earlier runs have left, and say which command removes it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from orchestrator.doctor.finding import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SHOWN = 20
"""Names in a command, at most; the rest is removed by calling it again."""


class Owner(StrEnum):
    """What is known of the process that made a container."""

    ALIVE = "alive"
    DEAD = "dead"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSeen:
    """A container of this tool."""

    name: str
    state: str
    owner: Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsSeen:
    """Attempts in a store that were stopped before they had an answer, and where they are."""

    directory: str
    count: int


def judge_containers(containers: Sequence[ContainerSeen], trials: Sequence[str]) -> Iterator[Finding]:
    """Judge the containers of runs that are over, and images that trying a builder has left."""
    dead = [one for one in containers if one.owner is Owner.DEAD]
    elsewhere = [one for one in containers if one.owner is Owner.ELSEWHERE]
    if dead:
        yield Finding(
            id="leftover.containers",
            level=Level.NOTE,
            summary=f"{_count(len(dead), 'container')} of runs that were killed; the next run here removes them",
            hint=_command("docker rm --force --volumes", [one.name for one in dead]),
        )
    if elsewhere:
        yield Finding(
            id="leftover.elsewhere",
            level=Level.NOTE,
            summary=(
                f"{_count(len(elsewhere), 'container')} of this tool from before this host was started, "
                "or from another host: no run here removes them"
            ),
            detail=", ".join(f"{one.name} ({one.state})" for one in elsewhere[:_SHOWN]),
            hint="if no run elsewhere uses them: "
            + _command("docker rm --force --volumes", [one.name for one in elsewhere]),
        )
    if trials:
        yield Finding(
            id="leftover.trials",
            level=Level.NOTE,
            summary=f"{_count(len(trials), 'image')} of nothing, left from trying a builder",
            hint=_command("docker rmi", trials),
        )
    if not (dead or elsewhere or trials):
        alive = len(containers)
        more = f"; {_count(alive, 'container')} of runs that are going on" if alive else ""
        yield Finding(
            id="leftover.containers", level=Level.OK, summary=f"no container is left of earlier runs{more}"
        )


def judge_attempts(seen: AttemptsSeen) -> Iterator[Finding]:
    """Judge the directories of attempts that will never have an answer."""
    if not seen.count:
        return
    place = shlex.quote(seen.directory)
    yield Finding(
        id="leftover.attempts",
        level=Level.NOTE,
        summary=f"{_count(seen.count, 'attempt')} in the store that were stopped more than a day ago",
        hint=(
            f"`find {place} -mindepth 1 -maxdepth 1 -mtime +0 ! -exec test -e {{}}/attempt.json \\; "
            "-exec rm -r {} +`"
        ),
    )


def _command(start: str, names: Sequence[str]) -> str:
    return f"`{start} {' '.join(map(shlex.quote, names[:_SHOWN]))}`"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
