"""The report as CSV (RFC 4180), one row per version of a series, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from datetime import UTC
from typing import TYPE_CHECKING

from orchestrator.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orchestrator.model import CellRow, Point, Report, Series

COLUMNS = (
    "issue",
    "stack",
    "axis",
    "fixed",
    "version",
    "outcome",
    "verdict",
    "signature",
    "state",
    "transition",
    "confidence",
    "bad",
    "good",
    "duration",
    "cell",
    "attempt",
    "measured",
    "device",
    "hardware",
)
"""What every row has; the columns `metric:<name>` follow, one per number that any probe recorded."""

_DIGITS = 4
"""Of a probability."""

# What a spreadsheet takes for a formula, some of them written wide as well.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001


def render(report: Report) -> str:
    """Return a clean report as CSV with a header, in the order of the series and their versions."""
    metrics = sorted({name for one in report.series for point in one.points for name in point.metrics})
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*COLUMNS, *(f"metric:{name}" for name in metrics)])
    cells = {row.cell: row for row in report.cells}
    for series in report.series:
        setting = report.stacks.get(series.stack)
        device = "" if setting is None else setting.device.value
        for point in series.points:
            row = _row(series, point, cells.get(point.cell), device)
            values = [row[column] for column in COLUMNS]
            writer.writerow(map(_field, [*values, *(point.metrics.get(name) for name in metrics)]))
    return text.getvalue()


def _row(series: Series, point: Point, cell: CellRow | None, device: str) -> dict[str, str | float | None]:
    change = next((one for one in series.transitions if one.version == point.version), None)
    # A cell knows where its newest attempt was made, which need not be the one that answers for this issue.
    origin = cell.origin if cell is not None and cell.origin and cell.origin.attempt == point.attempt else None
    reason = None if cell is None else cell.reason
    shows = {Verdict.BAD: point.signature, Verdict.UNKNOWN: point.signature or reason}
    return {
        "issue": series.issue,
        "stack": series.stack,
        "axis": series.axis,
        "fixed": "; ".join(_pairs(series.fixed)),
        "version": str(point.version),
        "outcome": point.outcome.value,
        "verdict": point.verdict.value,
        "signature": shows.get(point.verdict),
        "state": series.state.value,
        "transition": None if change is None else change.kind.value,
        "confidence": None if change is None else round(change.confidence, _DIGITS),
        "bad": point.bad,
        "good": point.good,
        "duration": point.duration,
        "cell": point.cell,
        "attempt": point.attempt,
        "measured": None if origin is None else f"{origin.started.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "device": device,
        "hardware": origin.fingerprint.device if origin is not None and origin.fingerprint else None,
    }


def _pairs(fixed: Mapping[str, str]) -> Iterator[str]:
    return (f"{name}={value}" for name, value in sorted(fixed.items()))


def _field(value: str | float | None) -> str | float | None:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
