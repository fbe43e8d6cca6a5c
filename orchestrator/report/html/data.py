"""What the panel of a cell and the filters need, as one JSON value by numbers: data.js reads it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from orchestrator.report import words
from orchestrator.report.clean import shorten
from orchestrator.report.html.age import STALE
from orchestrator.report.html.cells import CellColumns
from orchestrator.report.html.interned import Interned, runs
from orchestrator.report.html.logs import Logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from orchestrator.model import Outcome, Point, Verdict
    from orchestrator.report.html.layout import Layout, Numbered

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

_SHORTEST, _STEP = 0.001, 1.005
"""Seconds are told in steps of half a percent, which two digits reach over two days with."""


def data(
    layout: Layout,
    answers: Iterable[Sequence[int]],
    exhibits: Iterable[Sequence[int]],
) -> dict[str, Any]:
    """Return the data of a page; the last two say by number of which series each answer and exhibit is."""
    return _Data(layout).document(answers, exhibits)


class _Data:
    """One page's data while its values are numbered."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._issues = Interned(layout.report.issues)
        self._stacks: Interned[str] = Interned()
        self._axes: Interned[str] = Interned()
        self._places: Interned[tuple[int, int, int, int]] = Interned()
        self._texts: Interned[str] = Interned([""])
        self._names: Interned[str] = Interned()
        self._kinds: Interned[tuple[Outcome, Verdict, int]] = Interned()
        self._along: Interned[tuple[int, ...]] = Interned()
        self._logs = Logs()
        self._cells = CellColumns(layout)
        self._grids = {id(grid): number for number, grid in enumerate(layout.grids)}

    def document(self, answers: Iterable[Sequence[int]], exhibits: Iterable[Sequence[int]]) -> dict[str, Any]:
        # These number what the tables below then have.
        rows = [self._row(row) for row in self._layout.rows]
        cells = self._cells.document(self._axes, self._text)
        topics = self._layout.report.issues
        return {
            "stale": STALE.days,
            "rows": rows,
            "places": [list(place) for place in self._places.values],
            "grids": [[str(version) for version in grid.versions] for grid in self._layout.grids],
            "answers": [list(numbers) for numbers in answers],
            "exhibits": [list(numbers) for numbers in exhibits],
            "issues": [[name, shorten(topics[name].title, words.LONGEST)] for name in self._issues.values],
            "stacks": self._stacks.values,
            "axes": self._axes.values,
            "texts": self._texts.values,
            "names": [shorten(name, words.LONGEST) for name in self._names.values],
            "kinds": [[words.outcome(one), verdict.value, text] for one, verdict, text in self._kinds.values],
            "along": [list(cells) for cells in self._along.values],
            "lines": self._logs.lines,
            "logs": self._logs.logs,
            "cells": cells,
        }

    def _text(self, text: str | None) -> int:
        return self._texts.number(shorten(text or "", words.LONGEST))

    def _row(self, row: Numbered) -> list[Any]:
        """Return a series: who it is, of its points what most have, and what few have; empty ends are left out."""
        series = row.group.shown
        points = series.points
        place = (
            self._issues.number(series.issue),
            self._stacks.number(series.stack),
            self._axes.number(series.axis),
            self._grids[id(row.grid)] if row.grid is not None else -1,
        )
        told: list[Any] = [
            self._places.number(place),
            int(row.changed) + 2 * int(row.affected),
            self._text(words.combinations(row.group)),
            self._along.number(tuple(self._cells.number(point.cell) for point in points)),
            runs(self._kinds.number((p.outcome, p.verdict, self._text(p.signature))) for p in points),
            "".join(map(_seconds, points)),
            _some(points, lambda point: self._logs.number(point.log) if point.log else None),
            self._columns(row),
            _some(points, _counts),
            [[self._names.number(name), _numbers(points, name)] for name in _metrics(points)],
        ]
        while not told[-1]:
            told.pop()
        return told

    def _columns(self, row: Numbered) -> list[int]:
        """Return the columns of the points; nothing where every column of the grid has one."""
        if row.grid is None:
            return []
        versions = [point.version for point in row.group.shown.points]
        if len(versions) == len(row.grid.versions):
            return []
        places = {version: column for column, version in enumerate(row.grid.versions)}
        return [places[version] for version in versions]


def _seconds(point: Point) -> str:
    """Return how long probes took as two letters; the number is 1 ms times 1.005 to the power of it, less one."""
    if point.duration is None:
        return _DIGITS[0] * 2
    steps = round(math.log(max(point.duration, _SHORTEST) / _SHORTEST) / math.log(_STEP)) + 1
    high, low = divmod(min(steps, len(_DIGITS) ** 2 - 1), len(_DIGITS))
    return _DIGITS[high] + _DIGITS[low]


def _some(points: Sequence[Point], value: Callable[[Point], Any]) -> dict[str, Any]:
    """Return values by place, of those points alone that have one."""
    found = ((str(place), value(point)) for place, point in enumerate(points))
    return {place: one for place, one in found if one is not None}


def _counts(point: Point) -> list[int] | None:
    """Return how many runs came out bad and good, where it is not simply one."""
    return [point.bad, point.good] if point.bad + point.good > 1 else None


def _metrics(points: Sequence[Point]) -> list[str]:
    return sorted({name for point in points for name in point.metrics})


def _numbers(points: Sequence[Point], name: str) -> list[float | str | None]:
    return [_number(point.metrics[name]) if name in point.metrics else None for point in points]


def _number(value: float) -> float | str:
    """Return a number of six significant digits as JSON has it; what it lacks as text."""
    if math.isfinite(value):
        rounded = float(f"{value:.6g}")
        return int(rounded) if rounded.is_integer() else rounded
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
