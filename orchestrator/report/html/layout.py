"""Which series the page shows, each with its number: rows of the grids first, in the order of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import CellRow, Report, State
from orchestrator.pinpoint import Group, collapse
from orchestrator.report.grid import Grid, grids

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A group of equal series and its number on the page; without a grid where the stack has no device here."""

    number: int
    group: Group
    grid: Grid | None = None

    @property
    def changed(self) -> bool:
        """Whether the state changes anywhere along the series."""
        return bool(self.group.shown.transitions)

    @property
    def affected(self) -> bool:
        """Whether the newest known version is bad."""
        return self.group.shown.state is State.AFFECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A report with its series numbered. `rows` has them by number, `order` as the report has them."""

    report: Report
    cells: Mapping[str, CellRow]
    grids: tuple[Grid, ...]
    rows: tuple[Numbered, ...]
    order: tuple[Numbered, ...]


def layout(report: Report) -> Layout:
    """Number the series of a report."""
    groups = collapse(report.series)
    shown = grids(report)
    rows = tuple(_rows(groups, shown))
    places = {id(row.group): row for row in rows}
    return Layout(
        report=report,
        cells={row.cell: row for row in report.cells},
        grids=shown,
        rows=rows,
        order=tuple(places[id(group)] for group in groups),
    )


def _rows(groups: tuple[Group, ...], shown: tuple[Grid, ...]) -> Iterator[Numbered]:
    by_axis: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        by_axis.setdefault((group.shown.stack, group.shown.axis), []).append(group)
    number = 0
    for grid in shown:
        for group in by_axis.pop((grid.stack, grid.axis)):
            yield Numbered(number=number, group=group, grid=grid)
            number += 1
    for rest in by_axis.values():
        for group in rest:
            yield Numbered(number=number, group=group)
            number += 1
