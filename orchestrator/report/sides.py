"""The two versions that show an issue best: one with it and one without, as close together as is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import CellRow, Kind, Pin, Point
from orchestrator.pinpoint import newest_known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.model import Report, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One version, its cell and what is installed there."""

    label: str
    """What this side is: "last good", "first bad", "newest bad"."""
    point: Point
    row: CellRow | None
    pins: tuple[Pin, ...]
    """Nothing where the report does not have the environment."""
    commit: str | None = None
    """Hash, date and subject, where the version is a commit."""

    @property
    def python(self) -> str:
        """The Python version, as "3.11"."""
        return self.row.python if self.row is not None else "3"


def sides(report: Report, series: Series) -> tuple[Side, ...]:
    """Return the good and the bad side of a series, the older one first; fewer where fewer are known.

    They are those of the newest change between two known versions; without one, the newest version that is known.
    """
    rows = {row.cell: row for row in report.cells}
    points = {point.version: point for point in series.points}

    def side(label: str, point: Point, commit: str | None = None) -> Side:
        pins = report.environments.get(point.cell, ())
        return Side(label=label, point=point, row=rows.get(point.cell), pins=pins, commit=commit)

    change = series.transitions[-1] if series.transitions else None
    if change is not None and change.after is not None:
        before, now = ("good", "bad") if change.kind is Kind.INTRODUCED else ("bad", "good")
        old, new = points[change.after], points[change.version]
        return side(f"last {before}", old), side(f"first {now}", new, change.commit)
    newest = newest_known(series.points)
    return () if newest is None else (side(f"newest {newest.verdict.value}", newest),)


def differing(old: Side, new: Side) -> Mapping[str, tuple[str | None, str | None]]:
    """Return, by name, the versions of what is not the same on both sides; None where it is not installed."""
    before, after = ({pin.name: pin.version for pin in one.pins} for one in (old, new))
    return {
        name: (before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }
