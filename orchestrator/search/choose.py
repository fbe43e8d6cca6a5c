"""Which cells to run next: those that tell most about all open issues for what they cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from orchestrator.search.rows import Row

    Array = NDArray[np.float64]

CLOSED = 0.3
"""What a bit about an answered issue is worth: it still guards against an answer that is wrong.

In simulations 0.2 to 0.5 are alike, and all are better than 0 at the same number of runs."""

_TELLING = 0.3
"""A cell that tells less than this share of what another one does is not run, however cheap it is: runs that cost
next to nothing and tell next to nothing would go on for ever."""

_SCENARIOS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """When an issue needs no more runs."""

    confidence: float = 0.95
    """The least probability of all its states together."""
    confirm: int = 0
    """How many more runs than one have to show each side of a change."""
    patience: int = 400
    """How many runs an issue gets before it is given up: some probes are too flaky for any answer."""


def open_issues(row: Row, goal: Goal) -> NDArray[np.bool_]:
    """Return which issues (J,) of a row need more runs, as far as runs can help."""
    posterior = row.posterior
    unanswered: NDArray[np.bool_] = ~row.answered(goal.confidence)
    if goal.confirm:
        unanswered |= row.unconfirmed(goal.confirm).any(axis=1)
    unanswered &= posterior.information.max(axis=1, initial=0.0) > 0
    unanswered &= (row.bad + row.good).sum(axis=1) < goal.patience
    return unanswered


def choose(
    rows: Sequence[Row], goal: Goal, costs: Mapping[str, float], count: int = 1, *, seed: int = 0
) -> tuple[str, ...]:
    """Return up to `count` cells to run at once, the best first; none where every issue is answered.

    `costs` (any unit, above 0) are those of the cells that can be run. A cell may be chosen several times. Each
    choice after the first takes into account what the ones before it may turn out to say.
    """
    chosen: list[str] = []
    futures = [list(rows)]
    random = np.random.default_rng(seed)
    while len(chosen) < count:
        told: dict[str, float] = {}
        for future in futures:
            for cell, bits in _worth(future, goal, costs).items():
                told[cell] = told.get(cell, 0.0) + bits / len(futures)
        most = max(told.values(), default=0.0)
        if most <= 0:
            break
        best = max(
            (cell for cell, bits in told.items() if bits >= _TELLING * most),
            key=lambda cell: told[cell] / costs[cell],
        )
        chosen.append(best)
        if len(chosen) < count:
            futures = _futures(futures, best, random)
    return tuple(chosen)


def _worth(rows: Sequence[Row], goal: Goal, costs: Mapping[str, float]) -> dict[str, float]:
    """Return what one more run of each cell is expected to tell, in bits."""
    told: dict[str, float] = {}
    waiting = [open_issues(row, goal) for row in rows]
    if not any(one.any() for one in waiting):
        return {}
    for row, open_ in zip(rows, waiting, strict=True):
        posterior = row.posterior
        worth = np.where(open_, 1.0, CLOSED) @ posterior.information
        if goal.confirm:
            answered = row.answered(goal.confidence) & open_
            # Once nothing else is open, confirming has to go on, however sure the model is already.
            worth += (row.unconfirmed(goal.confirm) & answered[:, None]).sum(axis=0)
        for cell, value in zip(row.cells, worth, strict=True):
            if cell in costs:
                told[cell] = told.get(cell, 0.0) + float(value)
    return told


def _futures(futures: Sequence[Sequence[Row]], cell: str, random: np.random.Generator) -> list[list[Row]]:
    """Return what may be known after a cell was run: a few samples, spread evenly over the outcomes."""
    wanted = max(_SCENARIOS, len(futures))
    found: list[list[Row]] = []
    draws = {
        (place, issue): (random.permutation(wanted) + random.random(wanted)) / wanted
        for place, row in enumerate(futures[0])
        for issue in range(len(row.issues))
    }
    for number in range(wanted):
        rows = futures[number % len(futures)]
        found.append([_drawn(row, cell, place, number, draws) for place, row in enumerate(rows)])
    return found


def _drawn(row: Row, cell: str, place: int, number: int, draws: Mapping[tuple[int, int], Array]) -> Row:
    at = row.place.get(cell)
    if at is None:
        return row
    posterior = row.posterior
    fails = posterior.bad[:, at] * (1 - posterior.false_pass) + (1 - posterior.bad[:, at]) * posterior.false_fail
    drawn = np.array([draws[place, issue][number] for issue in range(len(row.issues))])
    bad, good = row.bad.copy(), row.good.copy()
    can = row.testable[:, at]
    bad[:, at] += can & (drawn < fails)
    good[:, at] += can & (drawn >= fails)
    return replace(row, bad=bad, good=good)
