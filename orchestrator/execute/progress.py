"""What happens during a run, told to whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class TaskKind(StrEnum):
    """The two things that take time."""

    PREPARE = "build"
    EXECUTE = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One unit of work on the board. `download` is in bytes, 0 where unknown or nothing."""

    kind: TaskKind
    name: str
    download: int = 0


class Observer(Protocol):
    """Is told what happens; called from several threads."""

    def phase(self, text: str) -> None:
        """A new part of the run begins."""
        ...

    def planned(self, tasks: tuple[Task, ...]) -> None:
        """The work that is known now; may grow by later calls."""
        ...

    def started(self, task: Task) -> None:
        """A task has begun."""
        ...

    def said(self, task: Task, line: str) -> None:
        """A task printed a line worth a glance."""
        ...

    def finished(self, task: Task, summary: str, *, good: bool) -> None:
        """A task has ended; `summary` is a few words."""
        ...

    def note(self, text: str) -> None:
        """Something the user should know, now."""
        ...


class Silent:
    """An observer that looks away."""

    def phase(self, text: str) -> None:
        """Ignore it."""

    def planned(self, tasks: tuple[Task, ...]) -> None:
        """Ignore it."""

    def started(self, task: Task) -> None:
        """Ignore it."""

    def said(self, task: Task, line: str) -> None:
        """Ignore it."""

    def finished(self, task: Task, summary: str, *, good: bool) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""
