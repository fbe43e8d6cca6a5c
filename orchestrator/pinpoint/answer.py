"""The whole answer of one matrix, ready to be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from orchestrator.model import FROM_IMAGE, CellRow, Pin, Report, Setting, Topic
from orchestrator.pinpoint.evidence import Installed, neighbours
from orchestrator.pinpoint.expectations import ends, unexpected
from orchestrator.pinpoint.series import along, lines
from orchestrator.pinpoint.transitions import newest_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestrator.model import (
        Cell,
        Distribution,
        Matrix,
        Neighbour,
        Outcome,
        Provenance,
        Searched,
        Series,
    )
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
    rows, installed = lines(matrix, measured), Installed()
    names = {name: canonicalize_name(one.distribution) for name, one in matrix.packages.items()}
    found = along(matrix, rows, installed, prior)
    near = neighbours(rows, installed)
    return Report(
        series=found,
        findings=unexpected(matrix, found, ends(cells)),
        cells=tuple([_row(one, names, installed, near.get(one.cell.id, {})) for one in measured]),
        issues={
            i.id: Topic(title=i.title, link=i.link, probes=i.probes, expect=i.expect, threshold=i.threshold)
            for i in matrix.issues.values()
        },
        stacks={s.name: Setting(device=s.device, note=s.note) for s in matrix.stacks.values()},
        provenance=provenance,
        notices=tuple(notices),
        searched=searched,
        environments=_environments(matrix, measured, found, installed),
        distributions=names,
    )


def _environments(
    matrix: Matrix, measured: Sequence[Measured], series: Iterable[Series], installed: Installed
) -> dict[str, tuple[Pin, ...]]:
    """Return what is installed on the two sides of each transition, and where each series ends."""
    sides: set[str] = set()
    for one in series:
        if (end := newest_known(one.points)) is not None:
            sides.add(end.cell)
        # By identity: a series tells its transitions by the versions of its points.
        turned = {id(v) for transition in one.transitions for v in (transition.after, transition.version)}
        if turned:
            sides.update([point.cell for point in one.points if id(point.version) in turned])
    known: dict[tuple[str, str, str], Pin] = {}
    return {
        one.cell.id: tuple([_pin(matrix, known, d, text) for d, text in installed.distributions(one)])
        for one in measured
        if one.lock is not None and one.cell.id in sides
    }


def _pin(matrix: Matrix, known: dict[tuple[str, str, str], Pin], one: Distribution, version: str) -> Pin:
    """Return a distribution as it is installed; cells share most of theirs."""
    key = one.name, version, one.index
    found = known.get(key)
    if found is None:
        found = known[key] = Pin(name=one.name, version=version, index=_index(matrix, one))
    return found


def _index(matrix: Matrix, one: Distribution) -> str | None:
    """Return where a distribution is from, None for the default index: what an image had came with that."""
    return one.url if one.index == FROM_IMAGE else matrix.indexes.get(one.index)


def _row(
    measured: Measured, names: Mapping[str, str], installed: Installed, near: Mapping[str, Neighbour]
) -> CellRow:
    cell, outcome = measured.cell, measured.outcome
    lock = measured.digest
    if lock is None and measured.lock is not None:
        lock = measured.lock.digest
    locked = installed.versions(measured)
    return CellRow(
        cell=cell.id,
        stack=cell.stack,
        python=cell.python,
        versions={name: locked.get(names[name]) or _asked(cell, name) for name in cell.requires},
        outcome=None if cell.excluded else outcome,
        excluded=cell.excluded is not None,
        reason=cell.excluded or measured.reason or _signature(measured, outcome),
        log=measured.log,
        lock=lock,
        origin=measured.origin,
        neighbours=near,
    )


def _signature(measured: Measured, outcome: Outcome | None) -> str | None:
    """Return what the judgements say of the outcome of the whole cell."""
    if outcome is None:
        return None
    return next((j.signature for j in measured.judgements.values() if j.outcome is outcome and j.signature), None)


def _asked(cell: Cell, package: str) -> str:
    """Return the version of a package as the axes name it."""
    exact = cell.versions.get(package)
    return str(exact) if exact is not None else str(cell.requires[package])
