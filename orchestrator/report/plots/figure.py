"""One plot, drawn."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

from orchestrator.report import words
from orchestrator.report.clean import shorten
from orchestrator.report.plots.frame import EDGE, FLAG, MAIN, ROW, SMALL, WIDTH, WORDS, Frame, frame
from orchestrator.report.plots.legend import draw_legend, legend
from orchestrator.report.plots.palette import KINDS, LIGHT, MARKERS, VERDICTS, line_dashes, line_role
from orchestrator.report.plots.scale import row
from orchestrator.report.plots.sentence import LINES, number
from orchestrator.report.plots.sheet import Sheet, marked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from orchestrator.report.plots.lettering import Lettering
    from orchestrator.report.plots.values import Line, Plot, Sample

_TITLE = 12.5
_SUBTITLE = 9.0

_LABEL = 40
"""Characters of a line's label beside each of its numbers."""

_DODGE = 0.1
"""Of a column, between two lines: equal numbers stay apart."""


def draw(plot: Plot, lettering: Lettering) -> tuple[Figure, dict[str, tuple[str, ...]]]:
    """Draw a plot of at least one line.

    Returns:
        The figure; and by the id of each group of markers, what each of them says.
    """
    rows = legend(plot, lettering)
    shape = frame(plot, lettering, len(rows))
    sheet = Sheet(WIDTH, shape.height, lettering)
    _headings(sheet, shape)
    _changes(sheet, shape)
    _panel(sheet, shape)
    _threshold(sheet, shape)
    _versions(sheet, shape)
    draw_legend(sheet, rows)
    said: dict[str, tuple[str, ...]] = {}
    strips = {
        name: place
        for names, bottom in ((shape.above, shape.strip), (shape.below, shape.foot))
        for name, place in _strip(sheet, shape, names, bottom)
    }
    points = sheet.layer()
    for place, line in enumerate(plot.lines[:LINES]):
        said |= _line(points, shape, strips, line, place)
    return sheet.figure, said


def _headings(sheet: Sheet, shape: Frame) -> None:
    plot, room = shape.plot, WIDTH - 2 * EDGE
    sheet.text((EDGE, shape.height - 23), plot.title, "ink", _TITLE, room=room, bold=True)
    about = " · ".join(filter(None, (plot.where, plot.topic)))
    sheet.text((EDGE, shape.height - 37), about, "muted", _SUBTITLE, room=room)
    middle = shape.main + MAIN / 2
    sheet.text((EDGE + 4, middle), plot.metric, "muted", SMALL + 1, room=MAIN, align="center", turned=90)


def _changes(sheet: Sheet, shape: Frame) -> None:
    """Draw a boundary between the two versions, with its word; what may hold the change is shaded."""
    for change, word in zip(shape.plot.changes, shape.words, strict=True):
        left, right = shape.boundary(change)
        role = KINDS[change.kind]
        rise = shape.top if word.row is None else shape.top + WORDS * (word.row + 1)
        if right - left > shape.step / 2:
            sheet.band(left, shape.foot, right - left, shape.top - shape.foot, "muted", opacity=0.16)
        for x in sorted({left, right}):
            if x > shape.left + 1:  # before the first version there is nothing to part it from
                sheet.stroke((x, x), (shape.foot, rise if x == left else shape.top), role, 1.4)
        if word.row is not None:
            x, align = (word.x - FLAG, "right") if word.leftwards else (word.x + FLAG, "left")
            sheet.text((x, rise - 7), word.text, role, SMALL, room=WIDTH, align=align, bold=True)


def _panel(sheet: Sheet, shape: Frame) -> None:
    for value, label in shape.ticks:
        y = shape.height_of(value)
        sheet.stroke((shape.left, shape.right), (y, y), "grid", 0.7)
        sheet.text((shape.left - 6, y - 2.8), label, "muted", SMALL, room=WIDTH, align="right")
    for y in (shape.main, shape.main + MAIN):
        sheet.stroke((shape.left, shape.right), (y, y), "grid", 1.0)
    if shape.scale.empty:
        middle = ((shape.left + shape.right) / 2, shape.main + MAIN / 2)
        sheet.text(middle, "no finite number", "muted", SMALL + 1, room=WIDTH, align="center")


def _threshold(sheet: Sheet, shape: Frame) -> None:
    limit, scale = shape.plot.threshold, shape.scale
    if limit is None or math.isnan(limit):
        return
    shown = not scale.empty and scale.low <= limit <= scale.high
    y = shape.height_of(limit) if shown else shape.main + (MAIN if limit > 0 else 0)
    sheet.band(shape.left, y, shape.right - shape.left, shape.main + MAIN - y, "bad", opacity=0.06)
    sheet.stroke((shape.left, shape.right + 2), (y, y), "ink", 1.1, dashes=(5, 3))
    at = min(max(y, shape.main + 8), shape.main + MAIN - 8)
    sheet.text((shape.right + 5, at + 1.5), "threshold", "muted", SMALL, room=WIDTH)
    sheet.text((shape.right + 5, at - 8), number(limit), "ink", SMALL, room=WIDTH, bold=True)


def _strip(sheet: Sheet, shape: Frame, names: Sequence[str], bottom: float) -> Iterator[tuple[str, float]]:
    """Draw rows for what no scale shows, and yield where each is."""
    if names:
        sheet.band(shape.left, bottom, shape.right - shape.left, len(names) * ROW, "strip")
    for place, name in enumerate(reversed(names)):
        y = bottom + (place + 0.5) * ROW
        sheet.text((shape.left - 6, y - 2.8), name, "muted", SMALL, room=WIDTH, align="right")
        yield name, y


def _versions(sheet: Sheet, shape: Frame) -> None:
    degrees = shape.turned.degrees
    for place in range(len(shape.versions)):
        x, known = shape.column(place), place in shape.turned.places
        sheet.stroke((x, x), (shape.foot, shape.foot - (4 if known else 2)), "muted" if known else "grid", 0.8)
        if known:
            y = shape.foot - (SMALL + 6 if not degrees else 7)
            align = "right" if degrees else "center"
            sheet.text((x, y), shape.versions[place], "ink", SMALL, room=WIDTH, align=align, turned=degrees)
    middle = (shape.left + shape.right) / 2
    y = shape.foot - shape.labels - 13
    sheet.text((middle, y), shape.plot.axis, "muted", SMALL + 1, room=shape.right - shape.left, align="center")


def _line(
    points: Axes, shape: Frame, strips: dict[str, float], line: Line, place: int
) -> dict[str, tuple[str, ...]]:
    """Draw a line, broken where no number is on the scale, and its markers; returns what these say."""
    shown = min(len(shape.plot.lines), LINES)
    dodge = (place - (shown - 1) / 2) * min(_DODGE, 0.5 / shown)
    columns = {version: shape.column(at + dodge) for at, version in enumerate(shape.plot.versions)}
    form = shape.scale.form

    def height(value: float | None) -> float:
        name = row(value, form)
        if name is not None or value is None:
            return strips[name or ""]
        return shape.height_of(value)

    colour, dashes = LIGHT[line_role(place)], line_dashes(place)
    for on_scale, run in groupby(line.samples, key=lambda sample: row(sample.value, form) is None):
        samples = list(run)
        if on_scale and len(samples) > 1:
            xs = [columns[sample.version] for sample in samples]
            ys = [height(sample.value) for sample in samples]
            points.plot(
                xs, ys, color=colour, linewidth=1.8, linestyle=(0, dashes) if dashes else "-", clip_on=False
            )
    for sample in line.samples:
        if sample.also:
            x, ys = columns[sample.version], [height(value) for value in (sample.value, *sample.also)]
            points.plot(
                [x, x], [min(ys), max(ys)], color=colour, linewidth=3.5, alpha=0.45, marker="_", clip_on=False
            )
    said: dict[str, tuple[str, ...]] = {}
    for verdict, (symbol, size) in MARKERS.items():
        samples = [sample for sample in line.samples if sample.verdict is verdict]
        if samples:
            xs = [columns[sample.version] for sample in samples]
            ys = [height(sample.value) for sample in samples]
            name = f"{verdict.value}-{place}"
            marked(points, xs, ys, symbol, _size(size, len(columns)), VERDICTS[verdict], name)
            said[name] = tuple(_said(sample, line.label) for sample in samples)
    return said


def _size(size: float, columns: int) -> float:
    return size if columns <= 40 else size * 0.8  # noqa: PLR2004 - from where they would touch


def _said(sample: Sample, label: str) -> str:
    value = "no value" if sample.value is None else number(sample.value)
    where = f"{sample.version}, {shorten(label, _LABEL)}" if label else str(sample.version)
    return f"{where}: {value} ({words.outcome(sample.outcome)})"
