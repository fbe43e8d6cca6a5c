"""A matrix to its cells: expand, exclude with reasons, select. Pure."""

from orchestrator.matrix.axes import AxisVersions, pick
from orchestrator.matrix.expand import cell_at, cell_id, companion_requirement, expand
from orchestrator.matrix.select import Selection, asked, select

__all__ = [
    "AxisVersions",
    "Selection",
    "asked",
    "cell_at",
    "cell_id",
    "companion_requirement",
    "expand",
    "pick",
    "select",
]
