"""The grids: one per stack and axis, issues by versions, with the borders where the state changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import Outcome, Verdict
from orchestrator.pinpoint import Group, collapse
from orchestrator.report import words
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.model import Report, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One version of one row; `border` where the state changes, or what is untested begins, before it."""

    glyph: str
    verdict: Verdict
    border: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One issue, or one issue with some of the other axes' values."""

    label: str
    marks: tuple[Mark | None, ...]
    """One per column; None where the row has no cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The issues that are followed along one axis of one stack, versions from the oldest to the newest."""

    stack: str
    axis: str
    also: str
    """Values of the other axes that all rows stand for."""
    versions: tuple[Version, ...]
    rows: tuple[Row, ...]


def grids(report: Report) -> tuple[Grid, ...]:
    """Return the grids of a report, without the stacks that have no device here."""
    idle = without_device(report)
    by_axis: dict[tuple[str, str], list[Group]] = {}
    for group in collapse(report.series):
        if group.shown.stack not in idle:
            by_axis.setdefault((group.shown.stack, group.shown.axis), []).append(group)
    return tuple(_grid(stack, axis, groups) for (stack, axis), groups in by_axis.items())


def without_device(report: Report) -> tuple[str, ...]:
    """Return the stacks no cell of which could run for want of a device."""
    outcomes: dict[str, set[Outcome | None]] = {}
    for row in report.cells:
        if not row.excluded:
            outcomes.setdefault(row.stack, set()).add(row.outcome)
    return tuple(stack for stack in report.stacks if outcomes.get(stack) == {Outcome.NO_DEVICE})


def glyphs(grids: Iterable[Grid]) -> tuple[str, ...]:
    """Return the glyphs that grids use, in the order of the legend."""
    used = {mark.glyph for grid in grids for row in grid.rows for mark in row.marks if mark is not None}
    return tuple(glyph for glyph in words.LEGEND if glyph in used)


def _grid(stack: str, axis: str, groups: Sequence[Group]) -> Grid:
    versions = tuple(sorted({point.version for group in groups for point in group.shown.points}))
    labels = {words.combinations(group) for group in groups}
    # What is true of every row is said once, above the grid.
    also = labels.pop() if len(labels) == 1 else None
    rows = tuple(
        Row(
            label=" ".join(
                filter(None, (group.shown.issue, "" if also is not None else words.combinations(group)))
            ),
            marks=_marks(group.shown, versions),
        )
        for group in groups
    )
    return Grid(stack=stack, axis=axis, also=also or "", versions=versions, rows=rows)


def _marks(series: Series, versions: Sequence[Version]) -> tuple[Mark | None, ...]:
    points = {point.version: point for point in series.points}
    borders = {transition.version for transition in series.transitions}
    borders |= {t.untested[0] for t in series.transitions if t.after is not None and t.untested}
    if series.points:
        borders -= {series.points[0].version}
    return tuple(
        Mark(
            glyph=words.glyph(points[version]),
            verdict=points[version].verdict,
            border=version in borders,
        )
        if version in points
        else None
        for version in versions
    )
