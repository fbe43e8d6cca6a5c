"""Issues that are followed along the same cells, and what their runs said: what a search stands on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.model import Verdict
from orchestrator.pinpoint.posterior import Posterior, infer
from orchestrator.pinpoint.prior import Prior

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Row:
    """J issues along n cells, the oldest version first; a new value for every new observation."""

    issues: tuple[str, ...]
    cells: tuple[str, ...]
    prior: Prior
    steps: Array
    """(n-1,): the share of every step in the axis."""
    bad: Array
    """(J, n): the runs that came out bad."""
    good: Array
    testable: NDArray[np.bool_]
    """(J, n): False where a run can tell nothing of an issue."""
    given: NDArray[np.int8]
    """(J, n): 1 where a version is bad, -1 where it is ok, because the user says so; else 0."""

    @classmethod
    def empty(cls, issues: Sequence[str], cells: Sequence[str], prior: Prior, steps: Array | None = None) -> Row:
        """Return a row without observations; without `steps`, all versions are equally far apart."""
        shape = (len(issues), len(cells))
        return cls(
            issues=tuple(issues),
            cells=tuple(cells),
            prior=prior,
            steps=np.full(shape[1] - 1, 1 / max(1, shape[1] - 1)) if steps is None else steps,
            bad=np.zeros(shape),
            good=np.zeros(shape),
            testable=np.ones(shape, dtype=np.bool_),
            given=np.zeros(shape, dtype=np.int8),
        )

    def told(self, cell: str, verdict: Verdict) -> Row:
        """Return the row with a cell's state given by the user, for all issues."""
        given = self.given.copy()
        given[:, self.place[cell]] = {Verdict.BAD: 1, Verdict.GOOD: -1, Verdict.UNKNOWN: 0}[verdict]
        return replace(self, given=given)

    def observed(self, cell: str, verdicts: Mapping[str, Verdict]) -> Row:
        """Return the row with one more run of a cell, by issue. An unknown verdict closes it for its issue."""
        at = self.place.get(cell)
        if at is None:
            return self
        bad, good, testable = self.bad.copy(), self.good.copy(), self.testable.copy()
        for index, issue in enumerate(self.issues):
            verdict = verdicts.get(issue)
            bad[index, at] += verdict is Verdict.BAD
            good[index, at] += verdict is Verdict.GOOD
            if verdict is Verdict.UNKNOWN and not bad[index, at] + good[index, at]:
                testable[index, at] = False
        return replace(self, bad=bad, good=good, testable=testable)

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each cell is."""
        return {cell: place for place, cell in enumerate(self.cells)}

    @cached_property
    def posterior(self) -> Posterior:
        """What the runs say of every issue."""
        return infer(self.prior, self.steps, (self.bad, self.good), self.testable, self.given)

    def answered(self, confidence: float) -> NDArray[np.bool_]:
        """Return which issues (J,) have all their states told at a confidence."""
        return self.posterior.probability >= confidence

    def unconfirmed(self, times: int) -> NDArray[np.bool_]:
        """Return where (J, n) a side of a change has shown its state fewer than 1 + `times` times."""
        path, testable = self.posterior.path, self.testable
        wanted = np.zeros(path.shape, dtype=np.bool_)
        shown = np.where(path, self.bad, self.good)
        for issue in range(len(path)):
            there = np.flatnonzero(testable[issue])
            turns = np.flatnonzero(np.diff(path[issue, there].astype(int)))
            sides = np.concatenate([there[turns], there[turns + 1]]) if len(turns) else there[:0]
            wanted[issue, sides] = shown[issue, sides] < 1 + times
        return wanted
