"""The whole answer of one matrix, ready to be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from orchestrator.model import CellRow, Report, Setting, Topic
from orchestrator.pinpoint.expectations import ends, unexpected
from orchestrator.pinpoint.series import series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.model import Cell, Matrix, Provenance, Searched
    from orchestrator.pinpoint.measured import Measured
    from orchestrator.pinpoint.prior import Prior


def answer(
    matrix: Matrix,
    measured: Sequence[Measured],
    provenance: Provenance,
    notices: Sequence[str] = (),
    cells: Sequence[Cell] = (),
    searched: Searched | None = None,
    prior: Prior | None = None,
) -> Report:
    """Return the report of what was measured; `cells` are all of the matrix, where only some were selected."""
    found = series(matrix, measured, prior)
    return Report(
        series=found,
        findings=unexpected(matrix, found, ends(cells)),
        cells=tuple(_row(matrix, one) for one in measured),
        issues={i.id: Topic(title=i.title, link=i.link) for i in matrix.issues.values()},
        stacks={s.name: Setting(device=s.device, note=s.note) for s in matrix.stacks.values()},
        provenance=provenance,
        notices=tuple(notices),
        searched=searched,
    )


def _row(matrix: Matrix, measured: Measured) -> CellRow:
    cell = measured.cell
    return CellRow(
        cell=cell.id,
        stack=cell.stack,
        python=cell.python,
        versions={name: _version(matrix, measured, name) for name in cell.requires},
        outcome=None if cell.excluded else measured.outcome,
        excluded=cell.excluded is not None,
        reason=cell.excluded or measured.reason or _signature(measured),
        log=measured.log,
    )


def _signature(measured: Measured) -> str | None:
    """Return what the judgements say of the outcome of the whole cell."""
    outcome = measured.outcome
    return next((j.signature for j in measured.judgements.values() if j.outcome is outcome and j.signature), None)


def _version(matrix: Matrix, measured: Measured, package: str) -> str:
    if measured.lock is not None:
        locked = measured.lock.version(canonicalize_name(matrix.packages[package].distribution))
        if locked is not None:
            return str(locked)
    exact = measured.cell.versions.get(package)
    return str(exact) if exact is not None else str(measured.cell.requires[package])
