"""What is not known yet of some cells: planned, scheduled, classified as it comes in, and kept."""

from __future__ import annotations

import uuid
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from orchestrator.execute.environment import probe_environment
from orchestrator.execute.port import Base, Job
from orchestrator.execute.progress import Task, TaskKind
from orchestrator.execute.runner import prepare_runner, runner_digest
from orchestrator.execute.schedule import Scheduler, Unprepared
from orchestrator.matrix import Selection
from orchestrator.model import (
    Attempt,
    Cell,
    Import,
    Lock,
    LockedCell,
    Outcome,
    ProbeResult,
)
from orchestrator.results import ReuseKeys, blanket, classify, imports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.execute.port import RawAttempt
    from orchestrator.workshop import Workshop


Rerun = Literal["missing", "failed", "infra", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is asked to do."""

    selection: Selection = field(default_factory=Selection)
    width: int = 1
    rerun: Rerun = "missing"
    executor: Executor | None = None
    """Where work is done; a pool of `width` threads when None. The run never shuts down one it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one locked cell so far."""

    cell: Cell
    lock: Lock
    base: Base
    probes: tuple[str, ...]
    results: dict[str, ProbeResult]
    imports: dict[str, Import]

    def missing(self, rerun: Rerun) -> tuple[str, ...]:
        """Return the probes that are to be run."""
        return tuple(probe for probe in self.probes if _wanted_again(self.results.get(probe), rerun))


def measure(shop: Workshop, options: Options, known: Mapping[str, Known], everything: Sequence[Cell]) -> None:
    """Run the probes that are missing; fills `known` and the store. `everything` is all cells of the matrix."""
    todo = [one for one in known.values() if one.missing(options.rerun)]
    if not todo:
        shop.observer.phase("every result is known already")
        return
    locked = [LockedCell(cell=one.cell, lock=one.lock) for one in known.values()]
    plan = shop.plan(shop.lock_candidates(everything, locked))
    keys = ReuseKeys(shop.matrix, runner=runner_digest)
    jobs = {one.cell.id: job_for(shop, one.cell, one.lock, one.missing(options.rerun)) for one in todo}

    def harvest(job: Job, raw: RawAttempt | Unprepared) -> None:
        one = known[job.cell]
        attempt = _attempt(shop, job, raw, one.base)
        one.results.update((result.probe, result) for result in attempt.results)
        one.imports.update((seen.package, seen) for seen in attempt.imports)
        environment = keys.environment(one.lock, one.base.digest)
        shop.store.record(environment, keys.probes(one.cell, job.nodeids), attempt)
        if isinstance(raw, Unprepared):
            return
        counts = Counter(result.outcome.value for result in attempt.results)
        summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        good = not any(result.outcome in (Outcome.INFRA, Outcome.ERROR) for result in attempt.results)
        shop.observer.finished(Task(kind=TaskKind.EXECUTE, name=job.cell), summary, good=good)

    shop.observer.phase(f"measuring {len(todo)} of {len(known)} cells, {options.width} at once")
    pool: AbstractContextManager[Executor] = (
        nullcontext(options.executor)
        if options.executor is not None
        else ThreadPoolExecutor(max_workers=options.width, thread_name_prefix="cell")
    )
    with pool as executor:
        scheduler = Scheduler(
            shop.runtime,
            executor,
            width=options.width,
            limits=shop.matrix.limits,
            observer=shop.observer,
            cancel=shop.cancel,
            took=shop.took,
        )
        scheduler.run(plan, list(jobs.values()), harvest)


def job_for(shop: Workshop, cell: Cell, lock: Lock, probes: tuple[str, ...], attempt: str | None = None) -> Job:
    """Return the job that runs some probes in a cell, as a new attempt or one of a given name.

    Installs the runner if it is missing.
    """
    attempt = attempt or f"{cell.id}-{uuid.uuid4().hex[:8]}"
    matrix = shop.matrix
    return Job(
        attempt=attempt,
        cell=cell.id,
        lock=lock,
        device=cell.device,
        probes=matrix.probes,
        runner=prepare_runner(shop.store.root / "cache", cell.python),
        nodeids=probes,
        # Companions first: where torch itself is broken, what stands on it need not be blamed.
        modules=tuple((name, matrix.packages[name].module) for name in reversed(tuple(cell.requires))),
        environment=probe_environment(cell.device, matrix.environment),
        limits=matrix.limits,
        directory=shop.store.attempt_directory(attempt),
    )


def _attempt(shop: Workshop, job: Job, raw: RawAttempt | Unprepared, base: Base) -> Attempt:
    """Classify what came of a job; what could not be built is an outcome like any other."""
    now = datetime.now(UTC)
    if isinstance(raw, Unprepared):
        outcome = Outcome.INFRA if raw.transient else Outcome.BUILD_FAILED
        reason = f"{raw.reason}\n{raw.log}" if raw.log else raw.reason
        return Attempt(
            id=job.attempt,
            cell=job.cell,
            runtime=shop.runtime.name,
            base=base.digest,
            started=now,
            duration=0.0,
            imports=(),
            results=tuple(blanket(job.nodeids, outcome, reason).values()),
        )
    return Attempt(
        id=job.attempt,
        cell=job.cell,
        runtime=shop.runtime.name,
        base=base.digest,
        started=now - timedelta(seconds=raw.duration),
        duration=raw.duration,
        imports=imports(raw),
        results=classify(raw, attempt=job.attempt, nodeids=job.nodeids),
        exit_code=raw.exit_code,
        note=raw.failure,
    )


def _wanted_again(result: ProbeResult | None, rerun: Rerun) -> bool:
    match rerun:
        case "all":
            return True
        case "failed":
            again = (Outcome.FAIL, Outcome.CRASH, Outcome.TIMEOUT, Outcome.ERROR)
            return result is None or result.outcome in again
        case "infra":
            return result is None or result.outcome is Outcome.ERROR
        case "missing":
            return result is None
