"""What was judged in cells, to one series per issue, stack and combination of the other axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.model import (
    Issue,
    Judgement,
    Kind,
    Outcome,
    Point,
    Series,
    Stack,
    Transition,
    Verdict,
    VersionRange,
)
from orchestrator.pinpoint.belief import Believed, believe
from orchestrator.pinpoint.evidence import explain
from orchestrator.pinpoint.measured import Measured
from orchestrator.pinpoint.transitions import state, transitions
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.model import Cell, Matrix
    from orchestrator.pinpoint.prior import Prior

PYTHON = "python"
"""How `fixed` names the Python version."""

_NOT_RUN = Judgement(outcome=Outcome.NOT_RUN, verdict=Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Cells that differ along one axis only, the oldest version first, and the issues followed along them."""

    stack: str
    axis: str
    fixed: Mapping[str, str]
    cells: tuple[Measured, ...]
    issues: tuple[str, ...]

    @property
    def versions(self) -> tuple[Version, ...]:
        """The versions of the axis."""
        return tuple(one.cell.versions[self.axis] for one in self.cells)


def lines(matrix: Matrix, measured: Sequence[Measured]) -> tuple[Line, ...]:
    """Return the lines along which the issues that were asked about are followed."""
    stacks: dict[str, list[Measured]] = {}
    for one in measured:
        if one.cell.excluded is None:
            stacks.setdefault(one.cell.stack, []).append(one)
    followed: dict[tuple[str, str], list[str]] = {}
    for issue in matrix.issues.values():
        for name, axis in issue.subjects.items():
            if any(issue.id in m.judgements for m in stacks.get(name, ())):
                followed.setdefault((name, axis), []).append(issue.id)
    return tuple(
        Line(stack=name, axis=axis, fixed=fixed, cells=tuple(row), issues=tuple(issues))
        for (name, axis), issues in followed.items()
        for fixed, row in _rows(matrix.stacks[name], axis, stacks[name])
    )


def series(matrix: Matrix, measured: Sequence[Measured], prior: Prior | None = None) -> tuple[Series, ...]:
    """Return the series of every issue that was judged in a cell of a stack, in the order of the matrix.

    Excluded cells are no points; another cell without a judgement of the issue is a point that was not run.
    `prior` is what is believed of them beforehand, where it is not what usually is.
    """
    found: dict[str, list[Series]] = {issue: [] for issue in matrix.issues}
    for line in lines(matrix, measured):
        believed = believe(line.issues, line.versions, line.cells, prior)
        for issue in line.issues:
            one = _along(matrix.issues[issue], line, believed.get(issue))
            found[issue].append(explain(matrix, one, line.cells))
    order = {
        (issue.id, stack): place for issue in matrix.issues.values() for place, stack in enumerate(issue.subjects)
    }
    return tuple(
        one for issue in found for one in sorted(found[issue], key=lambda one: order[one.issue, one.stack])
    )


def _rows(stack: Stack, axis: str, cells: Sequence[Measured]) -> list[tuple[dict[str, str], list[Measured]]]:
    names = _varying(stack, cells) - {axis}
    rows: dict[tuple[tuple[str, Version], ...], list[Measured]] = {}
    for measured in cells:
        values = _values(measured.cell)
        key = tuple((name, values[name]) for name in values if name in names)
        rows.setdefault(key, []).append(measured)
    return [
        ({name: str(value) for name, value in key}, sorted(rows[key], key=lambda m: m.cell.versions[axis]))
        for key in sorted(rows)
    ]


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


def _along(issue: Issue, line: Line, believed: Believed | None) -> Series:
    points = tuple(
        _point(issue, version, measured, believed is not None and bool(believed.bad[at]))
        for at, (version, measured) in enumerate(zip(line.versions, line.cells, strict=True))
    )
    found = Series(
        issue=issue.id,
        stack=line.stack,
        axis=line.axis,
        fixed=line.fixed,
        points=points,
        transitions=transitions(points),
        state=state(points),
    )
    if believed is None:
        return found
    sure = tuple(_sure(one, line.versions, believed) for one in found.transitions)
    return replace(found, transitions=sure, belief=believed.belief)


def _point(issue: Issue, version: Version, measured: Measured, bad: bool) -> Point:  # noqa: FBT001 - a state
    judged = measured.judged(issue.id) or (_NOT_RUN,)
    verdicts = [one.verdict for one in judged]
    # Where runs disagree, the model says which of them to believe; a single run is a fact to be shown.
    believed = Verdict.BAD if bad else Verdict.GOOD
    shown = (
        [one for one in judged if one.verdict is believed]
        if verdicts.count(verdicts[0]) < len(verdicts)
        else judged
    )
    judgement = (shown or judged)[-1]
    return Point(
        version=version,
        cell=measured.cell.id,
        outcome=judgement.outcome,
        verdict=judgement.verdict,
        signature=judgement.signature,
        metrics=judgement.metrics,
        bad=verdicts.count(Verdict.BAD),
        good=verdicts.count(Verdict.GOOD),
    )


def _sure(transition: Transition, versions: Sequence[Version], believed: Believed) -> Transition:
    """Return a transition with the probability that it lies where it is told."""
    new = versions.index(transition.version)
    old = new if transition.after is None else versions.index(transition.after)
    # Where no old state was seen, the claim is only that the version is bad.
    bad = transition.kind is Kind.INTRODUCED
    chance = believed.changed(old, new, bad=bad) if new > old else float(believed.chance[new])
    return replace(transition, confidence=min(1.0, chance))
