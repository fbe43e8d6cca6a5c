"""What a report knows of one cell, for people: what it is, what its issues came to there, and what made it."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from orchestrator.report import layout, words
from orchestrator.report.clean import shorten
from orchestrator.report.layout import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestrator.model import CellRow, Origin, Point, Report, Series

    Style = Callable[[str, str], str]

_MOVED_SHOWN = 30
_INDENT = "    "


def render(report: Report, row: CellRow, log: tuple[str, ...], width: int, style: Style) -> str:
    """Return a cell of a clean report as text; `log` is the end of its newest attempt's log, clean too."""
    sections = [
        "\n".join(_identity(row, width, style)),
        _issues(report, row, width, style),
        *(_neighbour(axis, row, width, style) for axis in row.neighbours),
        "\n".join([style("heading", "Log"), *(style("muted", f"  | {line}") for line in log)]) if log else "",
    ]
    return layout.finished("\n\n".join(filter(None, sections))) + "\n"


def _identity(row: CellRow, width: int, style: Style) -> Iterator[str]:
    yield style("heading", row.cell)
    versions = ", ".join(f"{name} {version}" for name, version in row.versions.items())
    yield layout.paragraph(f"stack {row.stack}, Python {row.python}, {versions}", width, first="  ", rest=_INDENT)
    if row.excluded or row.outcome is not None:
        told = "excluded" if row.outcome is None else words.outcome(row.outcome)
        text = f"{told}: {shorten(row.reason, words.LONGEST)}" if row.reason else told
        yield style("unknown", layout.paragraph(text, width, first="  ", rest=_INDENT))
    yield from (style("muted", f"  | {line}") for line in row.log)
    if row.lock is not None:
        yield f"  lock {row.lock[:12]}"
    if row.origin is not None:
        yield from (layout.paragraph(line, width, first="  ", rest=_INDENT) for line in origin(row.origin))


def origin(one: Origin) -> Iterator[str]:
    """Return where results come from, in a line or two."""
    moment = f"{one.started.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    yield f"measured {moment} in {one.duration:.1f} s, runtime {one.runtime}, base {one.base[:19]}"
    if one.fingerprint is not None:
        mark = one.fingerprint
        firmware = f"firmware {mark.firmware}" if mark.firmware else None
        yield f"on {', '.join(filter(None, [mark.device, mark.driver, firmware, mark.system]))}"
        if mark.runtime:
            yield f"with {', '.join(f'{name} {version}' for name, version in sorted(mark.runtime.items()))}"


def _issues(report: Report, row: CellRow, width: int, style: Style) -> str:
    found = [(one, point) for one in report.series for point in one.points if point.cell == row.cell]
    if not found:
        return ""
    rows = [[Text(text=text) for text in _entry(series, point)] for series, point in found]
    return layout.table(("issue", "came to", "signature", "seconds", "measured"), rows, width, style)


def _entry(series: Series, point: Point) -> tuple[str, ...]:
    metrics = ", ".join(f"{name} {value:.4g}" for name, value in sorted(point.metrics.items()))
    return (
        series.issue,
        f"{words.glyph(point)} {words.outcome(point.outcome)}",
        shorten(point.signature or words.NONE, words.LONGEST),
        words.NONE if point.duration is None else f"{point.duration:.2f}",
        metrics or words.NONE,
    )


def _neighbour(axis: str, row: CellRow, width: int, style: Style) -> str:
    near = row.neighbours[axis]
    moved = words.bounded([words.moved(one) for one in near.moved], _MOVED_SHOWN + 1)
    told = ", ".join(moved) if moved else "nothing"
    head = style("heading", f"Differs along {axis} from {near.cell}")
    return f"{head}\n{layout.paragraph(told, width, first='  ', rest='  ')}"
