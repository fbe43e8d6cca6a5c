"""A search: ask which cells tell most, run those, and again, until every issue is answered."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.costs import costs, warm
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

    from orchestrator.knowledge import Field
    from orchestrator.measure import Options
    from orchestrator.model import Cell
    from orchestrator.workshop import Workshop

_MOST_RUNS = 10
"""Runs per cell, on average, after which a search gives up: what it cannot tell by then is too noisy."""
_MOST_DOUBTED = 5
_REFUTED = 2
"""How many more runs say the opposite of what the user gives until it is no longer believed."""


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
        prices = costs(shop, field, plan)
        batch = (
            choose(rows, search.goal, prices, options.width, seed=runs)
            or _doubted(rows, prices)
            or _unseen(rows, prices)[: options.width]
        )
        stopped = _stopped(shop, search, rows, runs, time.monotonic() - begun, len(field.cells))
        following = () if stopped else tuple(dict.fromkeys(batch))
        narrowing.tell(found, rows, [(cell, warm(shop, field, cell, plan)) for cell in following])
        if stopped is not None or not batch:
            break
        if search.budget.runs is not None:
            following = following[: search.budget.runs - runs]
        if new := [cell for cell in field.later if cell.id in following]:
            builds = [f"{name} of {sha[:12]}" for cell in new for name, sha in cell.commits.items()]
            also = f", for which {' and '.join(builds)} is built" if builds else ""
            shop.observer.phase(f"resolving {', '.join(cell.id for cell in new)}{also}")
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


def _doubted(rows: Sequence[Row], prices: Mapping[str, float]) -> tuple[str, ...]:
    """Return a cell whose few runs say something else than the answer does: a flake to be shown as one."""
    for row in rows:
        runs = row.bad + row.good
        contrary = np.where(row.posterior.path, row.bad <= row.good, row.good <= row.bad)
        doubted = np.flatnonzero(((runs > 0) & (runs < _MOST_DOUBTED) & contrary).any(axis=0))
        for at in doubted:
            if row.cells[at] in prices:
                return (row.cells[at],)
    return ()


def _unseen(rows: Sequence[Row], prices: Mapping[str, float]) -> tuple[str, ...]:
    """Return the sides of changes that were never run, because the user gives them: a change is told by runs."""
    return tuple(
        row.cells[at]
        for row in rows
        for at in np.flatnonzero(row.unconfirmed(0).any(axis=0))
        if row.cells[at] in prices
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
