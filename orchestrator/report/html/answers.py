"""The table of the answer: one entry per issue and place, its episodes below one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.report import certainty, words
from orchestrator.report.escape import is_web
from orchestrator.report.html.anchors import anchor
from orchestrator.report.html.exhibits import key
from orchestrator.report.html.head import tone
from orchestrator.report.html.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orchestrator.model import Series, Transition
    from orchestrator.report.html.exhibits import Facts
    from orchestrator.report.html.layout import Layout, Numbered

MOST = 20
"""Answers that are told of one issue along one axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Where an episode begins or ends, and the evidence for it."""

    text: str
    evidence: str | None = None
    compare: str | None = None
    """A page that compares the releases before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One time that the issue was there."""

    introduced: Side
    fixed: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is known of one issue in one place. `numbers` are those of the series that say so."""

    anchor: str
    issue: str
    title: str
    link: str | None
    tone: str
    now: str
    episodes: tuple[Episode, ...]
    confidence: str
    """Of the last transition; the lowest and the highest where series differ."""
    known: str
    """Of the state of all versions."""
    culprit: str
    where: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """Answers of one issue in one place that are only counted: each is true of fewer combinations."""

    issue: str
    where: str
    answers: int
    numbers: tuple[int, ...]


def answers(layout: Layout, facts: Facts) -> tuple[Answer | Folded, ...]:
    """Return the answers in the order of the report, series that answer the same together.

    Of one issue along one axis at most `MOST` are told, those of the most combinations; the others are folded.
    """
    alike: dict[tuple[str, str, str], dict[tuple[object, ...], list[Numbered]]] = {}
    for row in layout.order:
        shown = row.group.shown
        reading = (words.now(shown), words.episodes(shown))
        alike.setdefault((shown.issue, shown.stack, shown.axis), {}).setdefault(reading, []).append(row)
    places = Places(layout)
    return tuple(
        answer for found in alike.values() for answer in _of_one(layout, facts, places, list(found.values()))
    )


def _of_one(
    layout: Layout, facts: Facts, places: Places, found: list[list[Numbered]]
) -> Iterator[Answer | Folded]:
    if len(found) > MOST:
        found = sorted(found, key=lambda rows: -sum(len(row.group.series) for row in rows))
    for rows in found[:MOST]:
        yield _answer(layout, facts, places, rows)
    if rest := found[MOST:]:
        rows = [row for rows in rest for row in rows]
        numbers = tuple(row.number for row in rows)
        yield Folded(issue=rows[0].group.shown.issue, where=places.where(rows), answers=len(rest), numbers=numbers)


def _answer(layout: Layout, facts: Facts, places: Places, rows: list[Numbered]) -> Answer:
    shown = rows[0].group.shown
    where = places.where(rows)
    topic = layout.report.issues[shown.issue]
    last = (rows[0].number, len(shown.transitions) - 1)
    beliefs = [row.group.shown.belief for row in rows]
    return Answer(
        anchor=anchor("a", shown.issue, shown.stack, shown.axis, where),
        issue=shown.issue,
        title=topic.title,
        link=topic.link if topic.link and is_web(topic.link) else None,
        tone=tone(shown.state),
        now=words.now(shown),
        episodes=tuple(_episodes(shown)),
        confidence=_span(row.group.shown.transitions[-1].confidence for row in rows if row.changed),
        known=_span(belief.probability for belief in beliefs if belief is not None),
        culprit=_culprit(facts, last),
        where=where,
        numbers=tuple(row.number for row in rows),
    )


def _episodes(series: Series) -> Iterator[Episode]:
    """Pair the words of each episode with its transitions; they alternate, an introduction first."""
    changes = iter(series.transitions)
    for episode in words.episodes(series):
        begin, end = next(changes, None), next(changes, None)
        yield Episode(introduced=_side(series, episode.introduced, begin), fixed=_side(series, episode.fixed, end))


def _side(series: Series, text: str, transition: Transition | None) -> Side:
    if transition is None:
        return Side(text=text)
    compare = transition.compare if transition.compare and is_web(transition.compare) else None
    return Side(text=text, evidence=key(series, transition), compare=compare)


def _culprit(facts: Facts, transition: tuple[int, int]) -> str:
    """Return what hybrid cells say of the last transition, else what differs between its sides."""
    exhibit = facts.by_transition.get(transition)
    told = {fact.label: fact.text for fact in exhibit.facts} if exhibit else {}
    return told.get("cause") or told.get("culprit") or ""


def _span(chances: Iterable[float]) -> str:
    """Return probabilities as a text, the lowest first; empty where there are none."""
    known = sorted(chances)
    if not known:
        return ""
    low, high = certainty.percent(known[0]), certainty.percent(known[-1])
    return low if low == high else f"{low} … {high}"
