"""The evidence as the page shows it: one exhibit per change, however many combinations agree on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import Kind, Series, Transition
from orchestrator.report import evidence
from orchestrator.report.clean import shorten
from orchestrator.report.escape import is_web
from orchestrator.report.html.anchors import anchor
from orchestrator.report.html.places import Places

if TYPE_CHECKING:
    from orchestrator.model import Point
    from orchestrator.report.html.layout import Layout, Numbered

LOG_LINES = 12
"""How many lines of a log stand with the evidence; the panel of a cell has more."""

LOG_COLUMNS = 160
"""How wide these lines are, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The last lines that a probe printed or raised at one version."""

    version: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A change of state with its facts: those of the first series; `also` counts others that change there too."""

    anchor: str
    kind: Kind
    issue: str
    where: str
    change: str
    facts: tuple[evidence.Fact, ...]
    excerpt: Excerpt | None
    also: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The exhibits of a page in its order, and the facts of each transition by series number and place in it."""

    shown: tuple[Shown, ...]
    by_transition: Mapping[tuple[int, int], evidence.Exhibit]


def key(series: Series, transition: Transition) -> str:
    """Return the id under which a transition's evidence stands."""
    return anchor(
        "e",
        series.issue,
        series.stack,
        series.axis,
        transition.kind,
        transition.after,
        transition.version,
        *transition.untested,
    )


def facts(layout: Layout) -> Facts:
    """Return the evidence of every transition, equal changes of one issue along one axis together."""
    found = iter(evidence.exhibits(layout.report))
    by_transition: dict[tuple[int, int], evidence.Exhibit] = {}
    alike: dict[str, list[tuple[Numbered, int]]] = {}
    for row in layout.order:
        for place, transition in enumerate(row.group.shown.transitions):
            by_transition[row.number, place] = next(found)
            alike.setdefault(key(row.group.shown, transition), []).append((row, place))
    places = Places(layout)
    shown = tuple(
        _shown(name, members, by_transition[members[0][0].number, members[0][1]], places)
        for name, members in alike.items()
    )
    return Facts(shown=shown, by_transition=by_transition)


def _shown(name: str, members: list[tuple[Numbered, int]], exhibit: evidence.Exhibit, places: Places) -> Shown:
    first, place = members[0]
    transition = first.group.shown.transitions[place]
    return Shown(
        anchor=name,
        kind=transition.kind,
        issue=exhibit.issue,
        where=places.where([row for row, _ in members]),
        change=exhibit.change,
        facts=tuple(fact for fact in exhibit.facts if not fact.is_link or is_web(fact.text)),
        excerpt=_excerpt(first.group.shown, transition),
        also=len(members) - 1,
        numbers=tuple(row.number for row, _ in members),
    )


def _excerpt(series: Series, transition: Transition) -> Excerpt | None:
    """Return what the bad side printed, or what the first point with its signature did."""
    bad = transition.version if transition.kind is Kind.INTRODUCED else transition.after
    points: dict[str | None, Point] = {}
    for point in series.points:
        if point.log:
            points.setdefault(point.signature, point)
        if point.version == bad:
            found = points.get(point.signature)
            return None if found is None else _bounded(found)
    return None


def _bounded(point: Point) -> Excerpt:
    lines = tuple(shorten(line, LOG_COLUMNS) for line in point.log[-LOG_LINES:])
    return Excerpt(version=str(point.version), lines=lines)
