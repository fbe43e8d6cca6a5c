"""A search: ask which cells tell most, run those, and again, until every issue is answered."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.knowledge import settle
from orchestrator.measure import measure, plan_for
from orchestrator.model import Searched, Verdict
from orchestrator.narrowing import Narrowing
from orchestrator.pinpoint import Line, lines
from orchestrator.pinpoint.belief import counts
from orchestrator.pinpoint.prior import Prior, shares
from orchestrator.search.choose import Goal, choose
from orchestrator.search.rows import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from orchestrator.execute.port import Plan
    from orchestrator.knowledge import Field, Known
    from orchestrator.measure import Options
    from orchestrator.model import Cell
    from orchestrator.workshop import Workshop

RUN_SECONDS = 5.0
"""What one run of a cell's probes may take, as long as none is known."""

SOURCE_SECONDS = 60.0
"""What it may take to make a cell that is not locked yet."""

_MOST_RUNS = 10
"""Runs per cell, on average, after which a search gives up: what it cannot tell by then is too noisy."""
_MOST_DOUBTED = 5
_REFUTED = 2
"""How many more runs say the opposite of what the user gives until it is no longer believed."""
_PLAYS = 3
_ROUNDING = 1e-9
_SEED = 20240501


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a search may use; None is no limit."""

    runs: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a search is asked to do."""

    goal: Goal = field(default_factory=Goal)
    budget: Budget = field(default_factory=Budget)
    prior: Prior = field(default_factory=Prior)
    always: bool = True
    """False: only where it costs less than running every cell."""
    given: Mapping[str, Verdict] = field(default_factory=dict)
    """Cells whose state the user gives, for all issues."""


def seek(shop: Workshop, options: Options, search: Search, field: Field, everything: Sequence[Cell]) -> Searched:
    """Run cells until every issue is answered, nothing more can be learned, or the budget is used.

    `everything` is all cells of the matrix.
    """
    begun = time.monotonic()
    runs = 0
    plan = plan_for(shop, field.known, everything)
    narrowing = Narrowing(shop.observer, search.goal)
    while True:
        found = lines(shop.matrix, field.measured(shop.matrix))
        rows = [row_of(line, search) for line in found]
        costs = _costs(shop, field, plan)
        batch = (
            choose(rows, search.goal, costs, options.width, seed=runs)
            or _doubted(rows, costs)
            or _unseen(rows, costs)[: options.width]
        )
        stopped = _stopped(shop, search, rows, runs, time.monotonic() - begun, len(field.cells))
        following = () if stopped else tuple(dict.fromkeys(batch))
        narrowing.tell(found, rows, [(cell, _warm(shop, field, cell, plan)) for cell in following])
        if stopped is not None or not batch:
            break
        if search.budget.runs is not None:
            following = following[: search.budget.runs - runs]
        if new := [cell for cell in field.later if cell.id in following]:
            names = ", ".join(f"{name} of {sha[:12]}" for cell in new for name, sha in cell.commits.items())
            shop.observer.phase(
                f"resolving {', '.join(cell.id for cell in new)}; builds {names}"
                if names
                else f"resolving {len(new)} cells"
            )
            settle(shop, field, new)
            plan = plan_for(shop, field.known, everything)
        wanted = [(one, one.probes) for cell in following if (one := field.known.get(cell)) is not None]
        if not wanted:
            continue
        measure(shop, options, wanted, plan)
        runs += len(wanted)
    unanswered = tuple(
        f"{issue} in {line.stack}"
        for line, row in zip(found, rows, strict=True)
        for issue, chance in zip(row.issues, row.posterior.probability, strict=True)
        if chance < search.goal.confidence
    )
    return Searched(
        runs=runs,
        cells=field.attempted,
        of=len(field.known) + len(field.later),
        confidence=search.goal.confidence,
        open=tuple(dict.fromkeys(unanswered)),
        stopped=stopped if unanswered else None,
        single=search.prior.single,
    )


def row_of(line: Line, search: Search) -> Row:
    """Return what the search knows of a line of cells; what the user gives counts until runs refute it."""
    seen = counts(line.issues, line.cells)
    given = np.zeros(seen.bad.shape, dtype=np.int8)
    for at, one in enumerate(line.cells):
        given[:, at] = {Verdict.BAD: 1, Verdict.GOOD: -1}.get(search.given.get(one.cell.id, Verdict.UNKNOWN), 0)
    given[(seen.good - seen.bad) * given >= _REFUTED] = 0
    return Row(
        issues=line.issues,
        cells=tuple(one.cell.id for one in line.cells),
        prior=search.prior,
        steps=shares(line.versions),
        bad=seen.bad,
        good=seen.good,
        testable=seen.testable,
        given=given,
    )


def refuted(rows: Sequence[Row], search: Search) -> tuple[str, ...]:
    """Return the cells whose runs say the opposite of what the user gives."""
    return tuple(
        cell
        for row in rows
        for cell in search.given
        if cell in row.place and not row.given[:, row.place[cell]].all()
    )


def worthwhile(shop: Workshop, search: Search, field: Field, plan: Plan) -> bool:
    """Tell whether a search costs less than running every cell, and say so.

    A few random histories are played through, as the prior draws them, with probes that never lie.
    """
    found = lines(shop.matrix, field.measured(shop.matrix))
    missing = [one for one in field.known.values() if not one.attempts]
    build = statistics.fmean(_building(shop, one, plan) for one in missing) if missing else 0.0
    run = _run_seconds(field)
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


def _costs(shop: Workshop, field: Field, plan: Plan) -> dict[str, float]:
    """Return the seconds that each cell that can be run takes: what is to be built for it, and the run."""
    run = _run_seconds(field)
    costs = {cell: _building(shop, one, plan) + run for cell, one in field.known.items()}
    return costs | {cell.id: SOURCE_SECONDS + run for cell in field.later}


def _warm(shop: Workshop, field: Field, cell: str, plan: Plan) -> bool:
    one = field.known.get(cell)
    return one is not None and _building(shop, one, plan) == 0


def _building(shop: Workshop, one: Known, plan: Plan) -> float:
    estimate = shop.pace.estimate()
    return sum(estimate(step) for step in plan.chain(one.lock.digest) if not shop.runtime.ready(step))


def _run_seconds(field: Field) -> float:
    durations = [
        sum(result.duration or 0.0 for result in attempt.values())
        for one in field.known.values()
        for attempt in one.attempts.values()
    ]
    return statistics.fmean(durations) + 1.0 if durations else RUN_SECONDS


def _doubted(rows: Sequence[Row], costs: Mapping[str, float]) -> tuple[str, ...]:
    """Return a cell whose few runs say something else than the answer does: a flake to be shown as one."""
    for row in rows:
        runs = row.bad + row.good
        contrary = np.where(row.posterior.path, row.bad <= row.good, row.good <= row.bad)
        doubted = np.flatnonzero(((runs > 0) & (runs < _MOST_DOUBTED) & contrary).any(axis=0))
        for at in doubted:
            if row.cells[at] in costs:
                return (row.cells[at],)
    return ()


def _unseen(rows: Sequence[Row], costs: Mapping[str, float]) -> tuple[str, ...]:
    """Return the sides of changes that were never run, because the user gives them: a change is told by runs."""
    return tuple(
        row.cells[at]
        for row in rows
        for at in np.flatnonzero(row.unconfirmed(0).any(axis=0))
        if row.cells[at] in costs
    )


def _stopped(
    shop: Workshop, search: Search, rows: Sequence[Row], runs: int, seconds: float, cells: int
) -> str | None:
    budget = search.budget
    if refuted(rows, search):
        return "runs say otherwise than what is given"
    if shop.cancel.is_set():
        return "it was interrupted"
    if budget.runs is not None and runs >= budget.runs:
        return f"its budget of {budget.runs} cells is used"
    if budget.seconds is not None and seconds >= budget.seconds:
        return f"its budget of {budget.seconds:.0f} s is used"
    if runs >= _MOST_RUNS * cells:
        return f"{runs} runs did not tell: the probes are too noisy"
    return None
