"""What one run after the other said of an issue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from orchestrator.model import State
from orchestrator.pinpoint import collapse
from orchestrator.report import certainty, layout, words
from orchestrator.report.layout import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orchestrator.model import Report

HEADERS = ("run", "where", "now", "introduced", "fixed", "known at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one run said of an issue in one place."""

    run: str
    when: str
    where: str
    state: State
    now: str
    introduced: tuple[str, ...]
    fixed: tuple[str, ...]
    probability: float | None
    """That all states are as told; None where nothing is known."""

    @property
    def said(self) -> tuple[object, ...]:
        """What makes it news: all but when it was said and how surely."""
        return self.now, self.introduced, self.fixed

    def as_json(self) -> dict[str, Any]:
        """Return it as `json.dumps` takes it."""
        return {
            "run": self.run,
            "where": self.where,
            "state": self.state.value,
            "now": self.now,
            "introduced": list(self.introduced),
            "fixed": list(self.fixed),
            "probability": self.probability,
        }


def chronicle(runs: Iterable[tuple[str, Report]], issue: str, *, every: bool) -> tuple[Entry, ...]:
    """Return what clean reports of runs, the oldest first, say of an issue; without `every` only what is news."""
    entries: list[Entry] = []
    last: dict[str, tuple[object, ...]] = {}
    for name, report in runs:
        for entry in _entries(name, report, issue):
            if every or last.get(entry.where) != entry.said:
                entries.append(entry)
            last[entry.where] = entry.said
    return tuple(entries)


def _entries(name: str, report: Report, issue: str) -> Iterable[Entry]:
    started = report.provenance.started
    for group in collapse(one for one in report.series if one.issue == issue):
        times = words.episodes(group.shown)
        belief = group.shown.belief
        yield Entry(
            run=name,
            when=name if started is None else f"{started.astimezone(UTC):%Y-%m-%d %H:%M}",
            where=words.where(group),
            state=group.shown.state,
            now=words.now(group.shown),
            introduced=tuple(one.introduced for one in times),
            fixed=tuple(one.fixed for one in times),
            probability=None if belief is None else round(belief.probability, 4),
        )


def table(entries: Iterable[Entry], width: int, style: Callable[[str, str], str]) -> str:
    """Return entries as a table for a terminal."""
    rows = [
        [
            Text(text=one.when, role="issue"),
            Text(text=one.where),
            Text(text=one.now, role=one.state.value),
            Text(text="; ".join(one.introduced)),
            Text(text="; ".join(one.fixed)),
            Text(text=words.NONE if one.probability is None else certainty.percent(one.probability)),
        ]
        for one in entries
    ]
    return layout.finished(layout.table(HEADERS, rows, width, style)) + "\n"
