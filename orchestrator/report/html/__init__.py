"""The report as one HTML page: a single file that needs no network and reads without scripts as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.report.html.page import composed
from orchestrator.report.html.writing import written

if TYPE_CHECKING:
    from orchestrator.model import Report

__all__ = ["render"]


def render(report: Report) -> str:
    """Return a clean report as an HTML document."""
    return written(composed(report))
