"""What running a cell takes, in seconds: what is to be built for it, and the run."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.execute.port import Plan
    from orchestrator.knowledge import Field, Known
    from orchestrator.workshop import Workshop

RUN_SECONDS = 5.0
"""What one run of a cell's probes may take, as long as none is known."""

SOURCE_SECONDS = 60.0
"""What it may take to make a cell that is not locked yet."""


def costs(shop: Workshop, field: Field, plan: Plan) -> dict[str, float]:
    """Return what each cell that can be run takes, by its id."""
    run = run_seconds(field)
    found = {cell: building(shop, one, plan) + run for cell, one in field.known.items()}
    return found | {cell.id: SOURCE_SECONDS + run for cell in field.later}


def warm(shop: Workshop, field: Field, cell: str, plan: Plan) -> bool:
    """Tell whether nothing has to be built for a cell."""
    one = field.known.get(cell)
    return one is not None and building(shop, one, plan) == 0


def building(shop: Workshop, one: Known, plan: Plan) -> float:
    """Return how long the missing steps of a cell's environment may take."""
    estimate = shop.pace.estimate()
    return sum(estimate(step) for step in plan.chain(one.lock.digest) if not shop.runtime.ready(step))


def run_seconds(field: Field) -> float:
    """Return how long one run of a cell's probes may take, from what the runs so far took."""
    durations = [
        sum(result.duration or 0.0 for result in attempt.results.values())
        for one in field.known.values()
        for attempt in one.attempts
    ]
    return statistics.fmean(durations) + 1.0 if durations else RUN_SECONDS
