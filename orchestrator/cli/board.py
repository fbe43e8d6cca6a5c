"""A run as it goes: a live board on a terminal, timestamped lines with a heartbeat elsewhere.

Both write to standard error; standard output is for the report.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from orchestrator.cli.tracker import Tracker, seconds, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from orchestrator.execute.progress import Task

HEARTBEAT = 30.0
"""Seconds of silence after which the line board says that work goes on."""

_WORTH_SHOWING = 1_000_000
"""Bytes below which nobody waits for a download."""

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@contextmanager
def board(console: Console, width: int) -> Iterator[LineBoard]:
    """Show a run on a console for as long as the context lasts."""
    shown = LiveBoard(console, width) if console.is_terminal else LineBoard(console, width)
    with shown.shown():
        yield shown


class LineBoard:
    """One timestamped line for each thing that happens, and a heartbeat while nothing does."""

    def __init__(self, console: Console, width: int, heartbeat: float = HEARTBEAT) -> None:
        self._console = console
        self._tracker = Tracker(width=width)
        self._lock = threading.RLock()
        self._begun = time.monotonic()
        self._heartbeat = heartbeat
        self._last = self._begun

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Beat while the context lasts."""
        stop = threading.Event()
        thread = threading.Thread(target=self._beat, args=(stop,), name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def phase(self, text: str) -> None:
        """A new part of the run begins."""
        self._line(text)

    def planned(self, tasks: tuple[Task, ...]) -> None:
        """The work that is known now."""
        with self._lock:
            self._tracker.plan(tasks)
            builds = sum(task.kind == "build" for task in tasks)
        if tasks:
            download = self._tracker.to_download
            what = f"{builds} environments or layers to build, {len(tasks) - builds} cells to run"
            self._line(f"{what}; about {size(download)} to download" if download >= _WORTH_SHOWING else what)

    def started(self, task: Task) -> None:
        """A task has begun."""
        with self._lock:
            self._tracker.start(task, time.monotonic())
        self._line(f"{task.kind:<5} {task.name}" + (f" ({size(task.download)})" if task.download else ""))

    def said(self, task: Task, line: str) -> None:
        """A task printed a line: the heartbeat shows the last one."""
        with self._lock:
            self._tracker.say(task, clean(line))

    def finished(self, task: Task, summary: str, *, good: bool) -> None:
        """A task has ended."""
        with self._lock:
            took = self._tracker.finish(task, time.monotonic(), good=good)
            standing = self._after()
        self._line(f"{task.kind:<5} {task.name}: {clean(summary)} in {seconds(took)}{standing}")

    def note(self, text: str) -> None:
        """Something the user should know."""
        self._line(f"note: {clean(text)}")

    def _after(self) -> str:
        """What follows the line of a task that ended: here nothing else shows where the run stands."""
        return f"; {self._standing()}"

    def _standing(self) -> str:
        tracker = self._tracker
        parts = [f"{tracker.done} done", f"{len(tracker.running)} running", f"{tracker.queued} queued"]
        if tracker.failed:
            parts.insert(1, f"{tracker.failed} failed")
        if (total := tracker.downloaded + tracker.to_download) >= _WORTH_SHOWING:
            parts.append(f"{size(tracker.downloaded)} of {size(total)} fetched")
        left = tracker.left(time.monotonic())
        if left is not None and tracker.planned:
            parts.append(f"about {seconds(left)} left")
        return ", ".join(parts)

    def _line(self, text: str) -> None:
        with self._lock:
            self._last = time.monotonic()
            stamp = seconds(self._last - self._begun)
            self._console.print(Text(f"[{time.strftime('%H:%M:%S')} {stamp:>11}] {text}"), soft_wrap=True)

    def _beat(self, stop: threading.Event) -> None:
        while not stop.wait(min(self._heartbeat, 1.0)):
            with self._lock:
                if time.monotonic() - self._last < self._heartbeat or not self._tracker.running:
                    continue
                entry = min(self._tracker.running.values(), key=lambda running: running.since)
                took = seconds(time.monotonic() - entry.since)
                last = f", last: {entry.line[:80]}" if entry.line else ""
                self._line(f"still {entry.task.kind} {entry.task.name} ({took}{last}); {self._standing()}")


class LiveBoard(LineBoard):
    """A board redrawn in place: the standing, and one line for each running task with its last output."""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Redraw while the context lasts."""
        with Live(console=self._console, get_renderable=self._render, refresh_per_second=4, transient=True):
            yield

    def started(self, task: Task) -> None:
        """A task has begun: the board shows it."""
        with self._lock:
            self._tracker.start(task, time.monotonic())

    def _after(self) -> str:
        return ""

    def _render(self) -> RenderableType:
        now = time.monotonic()
        with self._lock:
            rows = [Text(f"  {self._standing()}", style="bold")] if self._tracker.planned else []
            for running in self._tracker.running.values():
                row = Text("  ● ", style="cyan")
                row.append(
                    f"{running.task.kind:<5} {running.task.name}  {seconds(now - running.since)}  ", "default"
                )
                row.append(running.line, "dim")
                row.no_wrap, row.overflow = True, "ellipsis"
                rows.append(row)
        return Group(*rows)


def clean(text: str) -> str:
    """Return one printable line of what a container said."""
    return _CONTROL.sub("", text.replace("\n", " "))[:500]
