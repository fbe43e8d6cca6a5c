"""Where a run stands: what is running, what is done, and how long the rest may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestrator.execute.progress import Task, TaskKind

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Running:
    """A task that has begun, when (in the tracker's clock), and the last line it said."""

    task: Task
    since: float
    line: str = ""


@dataclass(slots=True)
class Tracker:
    """Counts a run's work. Times are seconds of one clock that only moves forward."""

    width: int
    planned: list[Task] = field(default_factory=list)
    running: dict[str, Running] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    downloaded: int = 0
    _spent: dict[TaskKind, float] = field(default_factory=dict)
    _finished: dict[TaskKind, int] = field(default_factory=dict)

    def plan(self, tasks: Sequence[Task]) -> None:
        """Add work."""
        self.planned += tasks

    def start(self, task: Task, now: float) -> None:
        """A task begins."""
        self.running[task.name] = Running(task=task, since=now)

    def say(self, task: Task, line: str) -> None:
        """A task said something."""
        if task.name in self.running:
            self.running[task.name].line = line

    def finish(self, task: Task, now: float, *, good: bool) -> float:
        """A task ends; returns how long it took."""
        begun = self.running.pop(task.name, None)
        took = now - begun.since if begun else 0.0
        if begun is not None:
            self._spent[task.kind] = self._spent.get(task.kind, 0.0) + took
            self._finished[task.kind] = self._finished.get(task.kind, 0) + 1
        self.done += 1
        self.failed += not good
        self.downloaded += task.download if good else 0
        self.planned = [other for other in self.planned if other != task]
        return took

    @property
    def queued(self) -> int:
        """How many tasks have not begun."""
        return sum(task.name not in self.running for task in self.planned)

    @property
    def to_download(self) -> int:
        """Bytes of wheels in the tasks that have not ended."""
        return sum(task.download for task in self.planned)

    def left(self, now: float) -> float | None:
        """Seconds that the rest may take, judged by what was done so far; None as long as nothing was.

        Builds are judged by their bytes, runs by their number.
        """
        builds = [task for task in self.planned if task.kind is TaskKind.PREPARE]
        runs = [task for task in self.planned if task.kind is TaskKind.EXECUTE]
        total = 0.0
        if builds:
            if not self.downloaded:
                return None
            total += self._spent.get(TaskKind.PREPARE, 0.0) / self.downloaded * sum(t.download for t in builds)
        if runs:
            total += self._mean(TaskKind.EXECUTE, default=10.0) * len(runs)
        total -= sum(min(now - entry.since, 60.0) for entry in self.running.values())
        return max(total / self.width, 0.0)

    def _mean(self, kind: TaskKind, default: float) -> float:
        finished = self._finished.get(kind, 0)
        return self._spent[kind] / finished if finished else default


def seconds(value: float) -> str:
    """Write a duration the way people say it: 8 s, 3 min 20 s, 2 h 5 min."""
    whole = round(value)
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(value: float) -> str:
    """Write a number of bytes: 1.4 GB, 12 MB, 3 kB."""
    if value >= 1e9:  # noqa: PLR2004
        return f"{value / 1e9:.1f} GB"
    return f"{value / 1e6:.0f} MB" if value >= 1e6 else f"{value / 1e3:.0f} kB"  # noqa: PLR2004


def count(number: int, noun: str) -> str:
    """Write a number of things: 1 layer, 3 layers."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
