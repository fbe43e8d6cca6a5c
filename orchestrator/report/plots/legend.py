"""What stands below a plot: its lines, and what its markers mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import Verdict
from orchestrator.report.plots.frame import EDGE, LEGEND, SMALL, WIDTH
from orchestrator.report.plots.palette import MARKERS, VERDICTS, line_dashes, line_role
from orchestrator.report.plots.sentence import LINES

if TYPE_CHECKING:
    from orchestrator.report.plots.lettering import Lettering
    from orchestrator.report.plots.sheet import Sheet
    from orchestrator.report.plots.values import Plot

_LABEL = 220.0
"""Points that a label may take."""

_SWATCH = 20.0
_MARK = 10.0
_APART = 16.0

_MEANINGS = {Verdict.GOOD: "ok", Verdict.BAD: "affected", Verdict.UNKNOWN: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry at `x`: of a line by its place, of a verdict, of what was not tested, or words alone."""

    text: str
    x: float
    line: int | None = None
    verdict: Verdict | None = None
    band: bool = False

    @property
    def swatch(self) -> float:
        """Points before the text."""
        if self.line is not None or self.band:
            return _SWATCH + 5
        return _MARK + 3 if self.verdict is not None else 0


def legend(plot: Plot, lettering: Lettering) -> tuple[tuple[Entry, ...], ...]:
    """Return the rows of a plot's legend, lines first."""
    blocks = [_lines(plot), _marks(plot)]
    rows: list[tuple[Entry, ...]] = []
    for block in blocks:
        row: list[Entry] = []
        x = EDGE
        for entry in block:
            width = entry.swatch + min(lettering.width(entry.text[:200], SMALL), _LABEL)
            if row and x + width > WIDTH - EDGE:
                rows.append(tuple(row))
                row, x = [], EDGE
            row.append(Entry(text=entry.text, x=x, line=entry.line, verdict=entry.verdict, band=entry.band))
            x += width + _APART
        if row:
            rows.append(tuple(row))
    return tuple(rows)


def draw_legend(sheet: Sheet, rows: tuple[tuple[Entry, ...], ...]) -> None:
    """Draw a legend at the foot of a sheet."""
    for place, row in enumerate(rows):
        y = EDGE + (len(rows) - place - 1) * LEGEND
        for entry in row:
            if entry.line is not None:
                xs = (entry.x, entry.x + _SWATCH)
                dashes = line_dashes(entry.line)
                sheet.stroke(xs, (y + 3, y + 3), line_role(entry.line), 1.8, dashes=dashes, above=True)
            elif entry.verdict is not None:
                shape, size = MARKERS[entry.verdict]
                sheet.mark((entry.x + _MARK / 2, y + 3), shape, size, VERDICTS[entry.verdict])
            elif entry.band:
                sheet.band(entry.x, y - 1, _SWATCH, 8, "muted", opacity=0.16)
            sheet.text((entry.x + entry.swatch, y), entry.text, "muted", SMALL, room=_LABEL)


def _lines(plot: Plot) -> list[Entry]:
    if len(plot.lines) == 1:
        return []
    entries = [Entry(text=line.label, x=0, line=place) for place, line in enumerate(plot.lines[:LINES])]
    if len(plot.lines) > LINES:
        entries.append(Entry(text=f"and {len(plot.lines) - LINES} more", x=0))
    return entries


def _marks(plot: Plot) -> list[Entry]:
    used = {sample.verdict for line in plot.lines[:LINES] for sample in line.samples}
    entries = [Entry(text=_MEANINGS[verdict], x=0, verdict=verdict) for verdict in MARKERS if verdict in used]
    if any(change.untested for change in plot.changes):
        entries.append(Entry(text="the change lies in here", x=0, band=True))
    if any(sample.also for line in plot.lines[:LINES] for sample in line.samples):
        entries.append(Entry(text="bar: the range of what a line stands for", x=0))
    return entries
