"""The head of the page: what is new, where things stand, and how much of it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import State, Surprise
from orchestrator.report import certainty, coverage, news, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orchestrator.model import Comparison, Finding, Report, Series

SENTENCES = 100
"""How many sentences on certainty are shown; a page with thousands of series would have nothing else."""

_CLASSES = {State.OK: "ok", State.AFFECTED: "bad", State.UNKNOWN: "unknown"}
_ROLES = {"affected": "bad", "ok": "ok", "unknown": "unknown"}
_SURPRISES = {Surprise.REGRESSION: "bad", Surprise.AFFECTED: "bad", Surprise.FIXED: "ok"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How many issues stand in one state."""

    tone: str
    glyph: str
    word: str
    issues: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something to know first."""

    tone: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """What differs from the run before: how much, and each thing."""

    headline: str
    changes: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of the bar of coverage: where it begins, how long it is, in cells."""

    tone: str
    start: int
    cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """All that stands above the answer. `certainty` is cut to `SENTENCES`; `uncertain` counts what was cut."""

    headline: str
    news: tuple[Item, ...]
    since: Since | None
    standings: tuple[Standing, ...]
    coverage: str
    shares: tuple[Share, ...]
    cells: int
    search: str | None
    notices: tuple[str, ...]
    certainty: tuple[str, ...]
    uncertain: int
    provenance: str


def head(report: Report) -> Head:
    """Return the head of a report."""
    counts = coverage.coverage(report.cells)
    sentences = certainty.sentences(report)
    return Head(
        headline=_headline(report.findings),
        news=tuple(Item(tone=_SURPRISES[one.kind], text=words.surprise(one)) for one in report.findings),
        since=_since(report.since) if report.since else None,
        standings=tuple(_standings(report.series)),
        coverage=coverage.sentence(counts),
        shares=tuple(_shares(counts)),
        cells=counts.cells,
        search=certainty.search(report.searched) if report.searched else None,
        notices=coverage.notices(report),
        certainty=sentences[:SENTENCES],
        uncertain=len(sentences[SENTENCES:]),
        provenance=words.provenance(report.provenance),
    )


def tone(state: State) -> str:
    """Return the class of a state: the colour in which the page shows it."""
    return _CLASSES[state]


def _headline(findings: tuple[Finding, ...]) -> str:
    return words.plural(len(findings), "unexpected result") if findings else "Nothing unexpected"


def _since(comparison: Comparison) -> Since:
    changes = tuple(Item(tone=_ROLES.get(line.role, ""), text=line.text) for line in news.lines(comparison))
    return Since(headline=news.headline(comparison), changes=changes)


def _standings(series: Iterable[Series]) -> Iterator[Standing]:
    """Count issues by their worst state: affected in any place, else ok in any, else unknown."""
    states: dict[str, set[State]] = {}
    for one in series:
        states.setdefault(one.issue, set()).add(one.state)
    ranked = (State.AFFECTED, State.OK, State.UNKNOWN)
    worst = [next(state for state in ranked if state in seen) for seen in states.values()]
    for state in ranked:
        glyph, _, word = words.STATES[state].partition(" ")
        yield Standing(tone=tone(state), glyph=glyph, word=word, issues=worst.count(state))


def _shares(counts: coverage.Coverage) -> Iterator[Share]:
    yield Share(tone="ok", start=0, cells=counts.measured)
    start = counts.measured
    for outcome, cells in counts.unmeasured.items():
        # What can never be measured is known; the rest may be, another day.
        yield Share(tone="known" if outcome.measured else "open", start=start, cells=cells)
        start += cells
