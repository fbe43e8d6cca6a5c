"""What was judged in cells, to one series per issue, stack and combination of the other axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model import Issue, Judgement, Outcome, Point, Series, Stack, Verdict, VersionRange
from orchestrator.pinpoint.evidence import explain
from orchestrator.pinpoint.transitions import ordered, state, transitions
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.model import Cell, Matrix
    from orchestrator.pinpoint.measured import Measured

PYTHON = "python"
"""How `fixed` names the Python version."""

_NOT_RUN = Judgement(outcome=Outcome.NOT_RUN, verdict=Verdict.UNKNOWN)


def series(matrix: Matrix, measured: Sequence[Measured]) -> tuple[Series, ...]:
    """Return the series of every issue that was judged in a cell of a stack, in the order of the matrix.

    Excluded cells are no points; another cell without a judgement of the issue is a point that was not run.
    """
    found: list[Series] = []
    stacks: dict[str, list[Measured]] = {}
    for one in measured:
        if one.cell.excluded is None:
            stacks.setdefault(one.cell.stack, []).append(one)
    rows: dict[tuple[str, str], list[tuple[dict[str, str], list[Measured]]]] = {}  # by stack and axis
    for issue in matrix.issues.values():
        for name, axis in issue.subjects.items():
            cells = stacks.get(name, [])
            if not any(issue.id in m.judgements for m in cells):
                continue
            if (name, axis) not in rows:
                rows[name, axis] = _rows(matrix.stacks[name], axis, cells)
            for fixed, row in rows[name, axis]:
                found.append(explain(matrix, _along(issue, name, axis, fixed, row), row))
    return tuple(found)


def _rows(stack: Stack, axis: str, cells: Sequence[Measured]) -> list[tuple[dict[str, str], list[Measured]]]:
    names = _varying(stack, cells) - {axis}
    rows: dict[tuple[tuple[str, Version], ...], list[Measured]] = {}
    for measured in cells:
        values = _values(measured.cell)
        key = tuple((name, values[name]) for name in values if name in names)
        rows.setdefault(key, []).append(measured)
    return [({name: str(value) for name, value in key}, rows[key]) for key in sorted(rows)]


def _varying(stack: Stack, cells: Sequence[Measured]) -> set[str]:
    """Return what can take several values in a stack, whichever of its cells were selected."""
    varying = {axis.package for axis in stack.axes if isinstance(axis.versions, VersionRange) or axis.versions[1:]}
    if stack.python[1:]:
        varying.add(PYTHON)
    seen: dict[str, set[Version]] = {}
    for measured in cells:
        for name, value in _values(measured.cell).items():
            seen.setdefault(name, set()).add(value)
    return varying | {name for name, values in seen.items() if len(values) > 1}


def _values(cell: Cell) -> dict[str, Version]:
    return {PYTHON: Version(cell.python), **cell.versions}


def _along(issue: Issue, stack: str, axis: str, fixed: Mapping[str, str], row: Sequence[Measured]) -> Series:
    points = ordered([_point(issue, axis, measured) for measured in row])
    return Series(
        issue=issue.id,
        stack=stack,
        axis=axis,
        fixed=fixed,
        points=points,
        transitions=transitions(points),
        state=state(points),
    )


def _point(issue: Issue, axis: str, measured: Measured) -> Point:
    judgement = measured.judgements.get(issue.id, _NOT_RUN)
    return Point(
        version=measured.cell.versions[axis],
        cell=measured.cell.id,
        outcome=judgement.outcome,
        verdict=judgement.verdict,
        signature=judgement.signature,
        metrics=judgement.metrics,
    )
