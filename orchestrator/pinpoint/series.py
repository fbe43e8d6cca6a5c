"""What was judged in cells, to one series per issue, stack and combination of the other axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from orchestrator.garbage import uncollected
from orchestrator.model import Belief, Series, Stack, Transition, VersionRange
from orchestrator.pinpoint.belief import Believed, Seen, believe_lines
from orchestrator.pinpoint.evidence import Evidence, Installed
from orchestrator.pinpoint.measured import Measured
from orchestrator.pinpoint.points import points_of
from orchestrator.pinpoint.tally import changes, tallies
from orchestrator.pinpoint.transitions import Turn, end_state, turns
from orchestrator.versions import Version

if TYPE_CHECKING:
    from orchestrator.model import Cell, Matrix
    from orchestrator.pinpoint.prior import Prior

PYTHON = "python"
"""How `fixed` names the Python version."""


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
    return along(matrix, lines(matrix, measured), Installed(), prior)


def along(
    matrix: Matrix, lines: Sequence[Line], installed: Installed, prior: Prior | None = None
) -> tuple[Series, ...]:
    """Return the series of every issue along lines, in the order of the matrix."""
    with uncollected():
        return _along(matrix, lines, installed, prior)


def _along(matrix: Matrix, lines: Sequence[Line], installed: Installed, prior: Prior | None) -> tuple[Series, ...]:
    strands = [_Strand(line, Evidence(matrix, line, installed)) for line in lines]
    for number, place, believed in believe_lines([Seen(one.versions, one.rows) for one in strands], prior):
        strands[number].learn(place, believed)
    # Line by line, because what is read for one issue of a line is near what is read for the next.
    found: dict[tuple[str, str], list[Series]] = {}
    for line, strand in zip(lines, strands, strict=True):
        for place, issue in enumerate(line.issues):
            found.setdefault((issue, line.stack), []).append(strand.series(place))
    places = ((issue.id, stack) for issue in matrix.issues.values() for stack in issue.subjects)
    return tuple([one for place in places for one in found.get(place, ())])


@dataclass(frozen=True, slots=True)
class _Told:
    """What is believed of one issue along a line, without what it was inferred from."""

    belief: Belief
    bad: Sequence[bool]
    confidence: dict[tuple[int | None, int], float]
    """By the places of the last version in the old state and the first in the new one."""


class _Strand:
    """One line, and the series of the issues along it."""

    def __init__(self, line: Line, evidence: Evidence) -> None:
        self._line = line
        self._evidence = evidence
        self._told: dict[int, _Told] = {}
        self.versions = line.versions
        self.rows = [tallies(issue, line.cells) for issue in line.issues]

    def learn(self, place: int, believed: Believed) -> None:
        """Keep what is believed of an issue, and how surely the state changes where its runs say so."""
        bad = believed.bad.tolist()
        confidence = {
            (old, new): _confidence(believed, old, new, bad=turned)
            for old, new, turned in changes(self.rows[place], bad)
        }
        self._told[place] = _Told(believed.belief, bad, confidence)

    def series(self, place: int) -> Series:
        """Return the series of an issue."""
        line, issue, told = self._line, self._line.issues[place], self._told.get(place)
        points = points_of(issue, self.versions, line.cells, None if told is None else told.bad)
        return Series(
            issue=issue,
            stack=line.stack,
            axis=line.axis,
            fixed=line.fixed,
            points=points,
            transitions=tuple([self._transition(turn, told) for turn in turns(points)]),
            state=end_state(points),
            belief=None if told is None else told.belief,
        )

    def _transition(self, turn: Turn, told: _Told | None) -> Transition:
        between = self._evidence.between(turn.after, turn.version)
        return Transition(
            kind=turn.kind,
            after=None if turn.after is None else self.versions[turn.after],
            version=self.versions[turn.version],
            untested=tuple([self.versions[at] for at in turn.untested]),
            confidence=1.0 if told is None else told.confidence[turn.after, turn.version],
            since_api=turn.since_api,
            compare=between.compare,
            culprit=between.culprit,
            moved=between.moved,
            git_versions=between.git_versions,
        )


def _confidence(believed: Believed, old: int | None, new: int, *, bad: bool) -> float:
    """Return the probability that a change lies where it is told."""
    # Where no old state was seen, the claim is only that the version is bad.
    chance = float(believed.chance[new]) if old is None else believed.changed(old, new, bad=bad)
    return min(1.0, chance)


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
    return {PYTHON: _python(cell.python), **cell.versions}


@lru_cache(maxsize=64)
def _python(text: str) -> Version:
    """Read the version of a Python: thousands of cells share a few."""
    return Version(text)
