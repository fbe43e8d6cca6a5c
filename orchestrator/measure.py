"""Cells that are to be run: planned, scheduled, classified as results come in, and kept."""

from __future__ import annotations

import uuid
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from orchestrator.execute.environment import probe_environment
from orchestrator.execute.port import Job
from orchestrator.execute.progress import Task, TaskKind
from orchestrator.execute.runner import prepare_runner, runner_digest
from orchestrator.execute.schedule import Scheduler, Unprepared
from orchestrator.knowledge import Rerun
from orchestrator.matrix import Selection
from orchestrator.model import (
    Attempt,
    Cell,
    Fingerprint,
    Lock,
    LockedCell,
    Origin,
    Outcome,
)
from orchestrator.results import ReuseKeys, blanket, classify, imports, runtime_versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.execute.port import Base, Plan, RawAttempt
    from orchestrator.knowledge import Known
    from orchestrator.workshop import Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is asked to do."""

    selection: Selection = field(default_factory=Selection)
    width: int = 1
    rerun: Rerun = "missing"
    executor: Executor | None = None
    """Where work is done; a pool of `width` threads when None. The run never shuts down one it was given."""


Wanted = tuple["Known", tuple[str, ...]]
"""A cell, and the probes that are to be run there once more."""


def plan_for(shop: Workshop, known: Mapping[str, Known], everything: Sequence[Cell]) -> Plan:
    """Plan the environments of known cells among all that this host can run; `everything` is the whole matrix."""
    locked = [LockedCell(cell=one.cell, lock=one.lock) for one in known.values()]
    return shop.plan(shop.lock_candidates(everything, locked))


def measure(shop: Workshop, options: Options, wanted: Sequence[Wanted], plan: Plan) -> None:
    """Run probes in cells, each as an attempt of its own; fills what is known of the cells, and the store."""
    keys = ReuseKeys(shop.matrix, runner=runner_digest)
    jobs = [job_for(shop, one.cell, one.lock, probes) for one, probes in wanted]
    of_job = {job.attempt: one for job, (one, _) in zip(jobs, wanted, strict=True)}

    def harvest(job: Job, raw: RawAttempt | Unprepared) -> None:
        one = of_job[job.attempt]
        attempt = _attempt(shop, job, raw, one.base)
        one.learn(attempt)
        environment = keys.environment(one.lock, one.base.digest)
        shop.store.record(environment, keys.probes(one.cell, job.nodeids), attempt)
        if isinstance(raw, Unprepared):
            return
        counts = Counter(result.outcome.value for result in attempt.results)
        summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        good = not any(result.outcome in (Outcome.INFRA, Outcome.ERROR) for result in attempt.results)
        shop.observer.finished(Task(kind=TaskKind.EXECUTE, name=job.cell), summary, good=good)

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
            devices=shop.devices,
        )
        scheduler.run(plan, jobs, harvest)


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
    duration = 0.0 if isinstance(raw, Unprepared) else raw.duration
    origin = Origin(
        attempt=job.attempt,
        runtime=shop.runtime.name,
        base=base.digest,
        started=datetime.now(UTC) - timedelta(seconds=duration),
        duration=duration,
        fingerprint=_fingerprint(shop, job, raw),
    )
    if isinstance(raw, Unprepared):
        outcome = Outcome.INFRA if raw.transient else Outcome.BUILD_FAILED
        reason = f"{raw.reason}\n{raw.log}" if raw.log else raw.reason
        return Attempt(
            cell=job.cell,
            origin=origin,
            imports=(),
            results=tuple(blanket(job.nodeids, outcome, reason).values()),
        )
    return Attempt(
        cell=job.cell,
        origin=origin,
        imports=imports(raw),
        results=classify(raw, attempt=job.attempt, nodeids=job.nodeids),
        exit_code=raw.exit_code,
        note=raw.failure,
    )


def _fingerprint(shop: Workshop, job: Job, raw: RawAttempt | Unprepared) -> Fingerprint:
    """Return what a job computed on, with the device's libraries that its payload found."""
    mark = job.grant.fingerprint if job.grant is not None else shop.devices.fingerprint(job.device)
    return mark if isinstance(raw, Unprepared) else replace(mark, runtime=runtime_versions(raw))
