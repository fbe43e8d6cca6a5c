"""The grids as tables of bounded height: what each place of them shows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from orchestrator.model import Kind, Point, Transition, Verdict
from orchestrator.report import words
from orchestrator.report.html.age import stale

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestrator.report.grid import Grid
    from orchestrator.report.html.layout import Layout, Numbered
    from orchestrator.versions import Version

ROWS = 50
"""Of one table; a browser lays out only the tables that are in view."""

_NARROW = 7
"""Characters of a version that fit across a column; longer ones are written upwards."""

KINDS = {
    "✓": "o",
    "✗": "f",
    "⚡": "c",
    "⏱": "t",
    "\N{EN DASH}": "ua",
    "!": "ue",
    "≠": "ui",
    "∅": "ur",
    "⚒": "ub",
    "○": "ud",
    "·": "un",
    "?": "uo",
}
"""Glyph to the class of a place that shows it; those of an unknown verdict begin with u."""

UNSURE_TIMEOUT = "ut"
"""The class of a timeout that says nothing about the version."""

BORDER, GAP, STALE, EMPTY = "k", "w", "s", "n"
"""Classes: the state changes before it; untested within a change; an old result; no such cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What one place shows: its classes, the word for it, and what is said of the change before it."""

    classes: tuple[str, ...]
    word: str
    tip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One series along the versions; `label` says which, where an issue has several."""

    number: int
    label: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Rows of one issue."""

    issue: str
    rows: tuple[Row, ...]

    @property
    def single(self) -> bool:
        """Whether the name of the issue says all that the row is."""
        return not any(row.label for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """At most `ROWS` rows of a grid."""

    part: str
    """Which rows of how many, where one table does not hold them all."""
    size: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A grid with its tables."""

    stack: str
    axis: str
    also: str
    versions: tuple[str, ...]
    upright: bool
    """Whether the versions are short enough to be written across."""
    tables: tuple[Table, ...]


def sheets(layout: Layout) -> tuple[Sheet, ...]:
    """Return the grids of a page."""
    old = stale(layout.report)
    places: dict[int, list[Numbered]] = {}
    for row in layout.rows:
        if row.grid is not None:
            places.setdefault(id(row.grid), []).append(row)
    return tuple(_sheet(grid, places[id(grid)], old) for grid in layout.grids)


def legend(sheets: Sequence[Sheet]) -> tuple[Mark, ...]:
    """Return one mark of each kind that is shown, in the order of the words' legend."""
    used = {
        mark.classes[:1]: mark.word.removesuffix(_OLD)
        for sheet in sheets
        for table in sheet.tables
        for block in table.blocks
        for row in block.rows
        for mark in row.marks
    }
    order = [*KINDS.values(), UNSURE_TIMEOUT]
    return tuple(Mark(classes=(kind,), word=used[(kind,)]) for kind in order if (kind,) in used)


def has(sheets: Sequence[Sheet], name: str) -> bool:
    """Tell whether any place of the grids has a class."""
    return any(
        name in mark.classes
        for sheet in sheets
        for table in sheet.tables
        for block in table.blocks
        for row in block.rows
        for mark in row.marks
    )


_OLD = ", old"
_EMPTY = Mark(classes=(EMPTY,), word="")


def _sheet(grid: Grid, rows: Sequence[Numbered], old: frozenset[str]) -> Sheet:
    several = any(len(row.group.series) > 1 for row in rows)
    shown = [
        (row.group.shown.issue, _row(row, grid.versions, "" if grid.also else words.combinations(row.group), old))
        for row in rows
    ]
    versions = tuple(map(str, grid.versions))
    return Sheet(
        stack=grid.stack,
        axis=grid.axis,
        also=f"{'same on' if several else 'on'} {grid.also}" if grid.also else "",
        versions=versions,
        upright=max(map(len, versions)) <= _NARROW,
        tables=tuple(_tables(shown)),
    )


def _tables(rows: Sequence[tuple[str, Row]]) -> Iterator[Table]:
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        blocks = tuple(
            Block(issue=issue, rows=tuple(row for _, row in members))
            for issue, members in groupby(part, key=lambda one: one[0])
        )
        told = f"rows {start + 1} to {start + len(part)} of {len(rows)}" if len(rows) > ROWS else ""
        yield Table(part=told, size=len(part), blocks=blocks)


def _row(row: Numbered, versions: Sequence[Version], label: str, old: frozenset[str]) -> Row:
    series = row.group.shown
    points = {point.version: point for point in series.points}
    changes = {transition.version: transition for transition in series.transitions}
    gaps = {
        version: transition
        for transition in series.transitions
        if transition.after is not None
        for version in transition.untested
    }
    first = series.points[0].version if series.points else None
    marks = tuple(
        _mark(points[version], changes, gaps, first, old) if version in points else _EMPTY for version in versions
    )
    return Row(number=row.number, label=label, marks=marks)


def _mark(
    point: Point,
    changes: Mapping[Version, Transition],
    gaps: Mapping[Version, Transition],
    first: Version | None,
    old: frozenset[str],
) -> Mark:
    kind, word = _kind(point)
    classes, tip = [kind], ""
    change, gap = changes.get(point.version), gaps.get(point.version)
    if change is not None and point.version != first:
        classes.append(BORDER)
        tip = _tip(change)
    elif gap is not None:
        classes.append(GAP)
        tip = f"untested; {_tip(gap)}"
        if gap.untested[0] == point.version:
            classes.append(BORDER)
    if point.cell in old:
        classes.append(STALE)
        word += _OLD
    return Mark(classes=tuple(classes), word=word, tip=tip)


def _kind(point: Point) -> tuple[str, str]:
    glyph = words.glyph(point)
    if glyph == "⏱" and point.verdict is Verdict.UNKNOWN:
        return UNSURE_TIMEOUT, f"{words.LEGEND[glyph]}, unknown"
    return KINDS[glyph], words.LEGEND[glyph]


def _tip(transition: Transition) -> str:
    old, new = ("good", "bad") if transition.kind is Kind.INTRODUCED else ("bad", "good")
    before = f"last {old} {transition.after}" if transition.after is not None else f"no {old} one before"
    return f"{before}, first {new} {transition.version}"
