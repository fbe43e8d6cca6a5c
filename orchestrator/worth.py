"""Whether a search costs less than running every cell."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.costs import building, run_seconds
from orchestrator.model import Verdict
from orchestrator.pinpoint import Line, lines
from orchestrator.pinpoint.prior import shares
from orchestrator.search.choose import choose
from orchestrator.search.rows import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from orchestrator.adaptive import Search
    from orchestrator.execute.port import Plan
    from orchestrator.knowledge import Field
    from orchestrator.workshop import Workshop

_PLAYS = 3
_ROUNDING = 1e-9
_SEED = 20240501


def worthwhile(shop: Workshop, search: Search, field: Field, plan: Plan) -> bool:
    """Tell whether a search costs less than running every cell, and say so.

    A few random histories are played through, as the prior draws them, with probes that never lie.
    """
    found = lines(shop.matrix, field.measured(shop.matrix))
    missing = [one for one in field.known.values() if not one.attempts]
    build = statistics.fmean(building(shop, one, plan) for one in missing) if missing else 0.0
    run = run_seconds(field)
    random = np.random.default_rng(_SEED)
    everything = len(field.known) * (build + run)
    # No play has a limit of its own, or the expensive ones would count for less than they cost.
    left = _PLAYS * everything
    for _ in range(_PLAYS):
        left -= _play(found, search, set(field.known), left, (build, run), random)
    expected = everything - left / _PLAYS
    worth = left > _ROUNDING * everything
    shop.observer.phase(
        f"a search is expected to cost {'less' if worth else 'no less'} than running every cell "
        f"({expected / everything:.0%}): {'searching' if worth else 'every cell is run'}"
    )
    return worth


def _play(
    found: Sequence[Line],
    search: Search,
    cells: set[str],
    limit: float,
    cost: tuple[float, float],
    random: np.random.Generator,
) -> float:
    """Return what a search would cost for random histories, at most `limit`."""
    rows = [
        Row.empty(line.issues, [one.cell.id for one in line.cells], search.prior, shares(line.versions))
        for line in found
    ]
    truths = [_history(row, random) for row in rows]
    costs = dict.fromkeys(cells, 1.0)
    built: set[str] = set()
    spent = 0.0
    while spent < limit:
        batch = choose(rows, search.goal, costs)
        if not batch:
            break
        spent += cost[1] + (0.0 if batch[0] in built else cost[0])
        built.add(batch[0])
        costs[batch[0]] = cost[1] / sum(cost)
        rows = [_seen(row, truth, batch[0]) for row, truth in zip(rows, truths, strict=True)]
    return min(spent, limit)


def _seen(row: Row, truth: NDArray[np.bool_], cell: str) -> Row:
    at = row.place.get(cell)
    if at is None:
        return row
    verdicts = {issue: Verdict.BAD if truth[index, at] else Verdict.GOOD for index, issue in enumerate(row.issues)}
    return row.observed(cell, verdicts)


def _history(row: Row, random: np.random.Generator) -> NDArray[np.bool_]:
    """Draw the states (J, n) of a row's issues as the prior says."""
    expected = random.choice(row.prior.expected, size=len(row.issues))
    turns = random.random(row.bad[:, 1:].shape) < -np.expm1(-np.outer(expected, row.steps))
    first = random.random(len(row.issues)) < row.prior.start
    odd: NDArray[np.bool_] = np.cumsum(np.column_stack([first, turns]), axis=1) % 2 == 1
    return odd
