"""How a search gets on, told to a person: what was narrowed, about how much is left, and what is next."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.search.choose import open_issues

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.execute.progress import Observer
    from orchestrator.pinpoint import Line
    from orchestrator.search.choose import Goal
    from orchestrator.search.rows import Row
    from orchestrator.versions import Version

_MOST = 3
"""Changes that one line names."""

Span = tuple[str, "Version", "Version"]
"""What happened, after which version, and in which at the latest."""


class Narrowing:
    """Compares each round of a search with the one before, and tells the difference."""

    def __init__(self, observer: Observer, goal: Goal) -> None:
        self._observer = observer
        self._goal = goal
        self._before: dict[tuple[int, str], list[Span]] = {}

    def tell(self, lines: Sequence[Line], rows: Sequence[Row], following: Sequence[tuple[str, bool]]) -> None:
        """Say what a round brought. `following` are the cells to be run next, each with whether it is warm."""
        changes = [text for at, line in enumerate(lines) for text in self._changes(at, line, rows[at])]
        parts = changes[:_MOST]
        if (more := len(changes) - _MOST) > 0:
            parts.append(f"{more} more {'change' if more == 1 else 'changes'}")
        if following:
            left = _left(rows, self._goal)
            parts.append(f"about {left} {'run' if left == 1 else 'runs'} left")
            parts.append("next " + ", ".join(_named(lines, cell, warm=warm) for cell, warm in following))
        if parts:
            self._observer.phase("; ".join(parts))

    def _changes(self, at: int, line: Line, row: Row) -> Iterator[str]:
        for index, issue in enumerate(line.issues):
            now = _spans(line, row, index)
            before = self._before.get((at, issue), [])
            self._before[at, issue] = now
            if [span[0] for span in now] != [span[0] for span in before]:
                for what, after, version in now:
                    yield f"{issue}: {what} between {line.axis} {after} and {version}"
                continue
            for (_, old, older), (_, new, newer) in zip(before, now, strict=True):
                if (old, older) != (new, newer):
                    yield f"{issue}: narrowed {line.axis} from {old} … {older} to {new} … {newer}"


def _spans(line: Line, row: Row, index: int) -> list[Span]:
    """Return where the state changes between versions that were run or are given."""
    known = np.flatnonzero(row.bad[index] + row.good[index] + abs(row.given[index]))
    path, versions = row.posterior.path[index], line.versions
    return [
        ("introduced" if path[new] else "fixed", versions[old], versions[new])
        for old, new in pairwise(known)
        if path[old] != path[new]
    ]


def _left(rows: Sequence[Row], goal: Goal) -> int:
    """Estimate how many runs are left: the surprise still in the open answers, by what the best run tells."""
    bits, best = 0.0, 0.0
    for row in rows:
        waiting = open_issues(row, goal)
        bits -= float(np.log2(np.maximum(row.posterior.probability[waiting], 1e-9)).sum())
        best = max(best, float(row.posterior.information[waiting].sum(axis=0).max(initial=0.0)))
    return max(1, math.ceil(bits / best)) if best else 1


def _named(lines: Sequence[Line], cell: str, *, warm: bool) -> str:
    for line in lines:
        for one, version in zip(line.cells, line.versions, strict=True):
            if one.cell.id == cell:
                return f"{line.axis} {version}{' (warm)' if warm else ''}"
    return cell
