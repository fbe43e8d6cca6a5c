"""Which results are old: measured long before the run that the report is of."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.model import CellRow, Report

STALE = timedelta(days=30)
"""A result that is older than this when the run starts is dimmed."""


def stale(report: Report) -> frozenset[str]:
    """Return the cells whose newest attempt is stale; none where nobody knows when the run started."""
    return frozenset(row.cell for row in report.cells if _is_stale(row, report))


def _is_stale(row: CellRow, report: Report) -> bool:
    run = report.provenance.started
    return run is not None and row.origin is not None and run - row.origin.started > STALE
