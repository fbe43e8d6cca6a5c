"""Which step or job next: parents first, jobs as soon as their environment is there, inside the disk limit."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.devices import Pool
from orchestrator.execute.port import Job, Plan, RawAttempt, Runtime, Step, StepFailedError
from orchestrator.execute.progress import Observer, Task, TaskKind
from orchestrator.execute.queue import Queue, Refused
from orchestrator.execute.retention import drop_order
from orchestrator.planning.outlook import UNPACKED_PER_DOWNLOADED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from threading import Event

    from orchestrator.model import Limits

TRIES = 3
"""How often what failed for a passing reason (network, engine) is tried in all."""


_GLANCE = 0.25
"""Seconds between two looks at devices that others have, while cells wait for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprepared:
    """A job that never ran because its environment could not be made."""

    reason: str
    log: str
    transient: bool


class Scheduler:
    """Prepares steps and executes jobs on an executor, at most `width` at a time.

    A job starts once `devices` have something for it to compute on; until then it waits in the queue, not on a
    thread, and others go first.

    `harvest` is called in the calling thread with every job that ended, as soon as it did, so that nothing
    measured is lost whatever happens later. `took` is told how many seconds each step took, from its thread.
    """

    def __init__(  # noqa: PLR0913 - what it works with, and nothing else
        self,
        runtime: Runtime,
        executor: Executor,
        *,
        width: int,
        limits: Limits,
        observer: Observer,
        cancel: Event,
        backoff: Callable[[int], float] = lambda attempt: 2.0 * 4**attempt,
        took: Callable[[Step, float], None] = lambda _step, _seconds: None,
        devices: Pool | None = None,
    ) -> None:
        self._runtime = runtime
        self._executor = executor
        self._width = width
        self._limits = limits
        self._observer = observer
        self._cancel = cancel
        self._backoff = backoff
        self._took = took
        self._devices = devices or Pool()

    def build(self, plan: Plan, locks: Iterable[str], failed: Callable[[Step, Unprepared], None]) -> None:
        """Prepare the environments of some locks (by digest) and keep them; `failed` hears of what cannot be."""
        self._work(Queue(plan, (), self._runtime, goals=tuple(locks)), lambda _job, _raw: None, failed)

    def run(
        self, plan: Plan, jobs: Sequence[Job], harvest: Callable[[Job, RawAttempt | Unprepared], None]
    ) -> None:
        """Prepare what the jobs need and execute them; returns when all ended, or soon after a cancel."""
        self._work(Queue(plan, jobs, self._runtime), harvest, lambda _step, _failure: None)

    def _work(
        self,
        queue: Queue,
        harvest: Callable[[Job, RawAttempt | Unprepared], None],
        failed: Callable[[Step, Unprepared], None],
    ) -> None:
        self._observer.planned(
            tuple(map(_step_task, queue.steps.values())) + tuple(_job_task(job) for job in queue.jobs)
        )
        self._runtime.expect(tuple(queue.steps.values()))
        active: dict[Future[RawAttempt | None], Step | Job] = {}
        try:
            while queue.jobs or queue.building or active:
                self._fill(queue, active, harvest)
                if not active and (self._cancel.is_set() or not queue.waits):
                    return  # cancelled, or the last job was refused its device
                if not active:
                    self._cancel.wait(_GLANCE)
                    continue
                done, _ = wait(active, timeout=_GLANCE if queue.waits else 1.0, return_when=FIRST_COMPLETED)
                for future in done:
                    self._finish(queue, active.pop(future), future, harvest, failed)
        finally:
            self._devices.wait_no_more()

    def _fill(
        self,
        queue: Queue,
        active: dict[Future[RawAttempt | None], Step | Job],
        harvest: Callable[[Job, RawAttempt | Unprepared], None],
    ) -> None:
        """Start what can start, up to the width."""
        while not self._cancel.is_set() and len(active) < self._width:
            item = queue.next(self._devices.acquire)
            if isinstance(item, Refused):
                self._observer.started(_job_task(item.job))
                harvest(item.job, RawAttempt(started=False, failure=item.reason))
                queue.ran(item.job)
                continue
            if isinstance(item, Step) and not self._room(queue, item, waiting=bool(active)):
                queue.put_back(item)
                break
            if item is None:
                break
            active[self._submit(queue, item)] = item
        if queue.waits_elsewhere:
            self._observer.note(f"{queue.waits_elsewhere} waits for a GPU: other runs have all of them")
            queue.waits_elsewhere = None
        if len(active) >= self._width:
            self._devices.wait_no_more()  # nobody here could take one now

    def _submit(self, queue: Queue, item: Step | Job) -> Future[RawAttempt | None]:
        if isinstance(item, Step):
            return self._executor.submit(self._prepare, item)
        return self._executor.submit(self._execute, item, queue.environment(item))

    def _prepare(self, step: Step) -> None:
        task = _step_task(step)
        self._observer.started(task)

        def say(line: str) -> None:
            self._observer.said(task, line)

        for attempt in range(TRIES):
            begun = time.monotonic()
            try:
                self._runtime.prepare(step, self._limits, say, self._cancel)
            except StepFailedError as error:
                if not error.transient or attempt == TRIES - 1 or self._cancel.is_set():
                    raise
                pause = self._backoff(attempt)
                say(f"{error}; trying again in {pause:.0f} s")
                self._cancel.wait(pause)
            else:
                self._took(step, time.monotonic() - begun)
                return

    def _execute(self, job: Job, step: Step) -> RawAttempt:
        try:
            raw = self._try(job, step)
            if raw.survived and job.grant is not None:
                self._devices.isolate(job.grant, f"{raw.failure} ({job.attempt})")
            return raw
        finally:
            if job.grant is not None:
                job.grant.release()

    def _try(self, job: Job, step: Step) -> RawAttempt:
        """Execute a job, and again where it did not even start; one that cannot be ended would do it again."""
        task = _job_task(job)
        self._observer.started(task)

        def say(line: str) -> None:
            self._observer.said(task, line)

        raw = self._runtime.execute(job, step, say, self._cancel)
        for attempt in range(TRIES - 1):
            if raw.started or raw.survived or raw.cancelled or self._cancel.is_set():
                break
            pause = self._backoff(attempt)
            say(f"{raw.failure}; trying again in {pause:.0f} s")
            self._cancel.wait(pause)
            raw = self._runtime.execute(job, step, say, self._cancel)
        return raw

    def _finish(
        self,
        queue: Queue,
        item: Step | Job,
        future: Future[RawAttempt | None],
        harvest: Callable[[Job, RawAttempt | Unprepared], None],
        failed: Callable[[Step, Unprepared], None],
    ) -> None:
        if isinstance(item, Job):
            raw = future.result()
            assert raw is not None  # noqa: S101 - only steps return nothing
            harvest(item, raw)
            queue.ran(item)
            return
        try:
            future.result()
        except StepFailedError as error:
            self._observer.finished(_step_task(item), str(error), good=False)
            failure = Unprepared(reason=str(error), log=error.log, transient=error.transient)
            failed(item, failure)
            for job in queue.failed(item):
                harvest(job, failure)
        else:
            queue.prepared(item)
            self._observer.finished(_step_task(item), "built", good=True)

    def _room(self, queue: Queue, step: Step, *, waiting: bool) -> bool:
        """Make room for a step by dropping what no job needs any more; False means: wait for others first."""
        wanted = int(step.size * UNPACKED_PER_DOWNLOADED)
        held = self._runtime.held()
        taken = sum(one.size for one in held.values())
        for key in drop_order(held, queue.needed()):
            if taken + wanted <= self._limits.disk:
                break
            if self._runtime.discard(key):
                taken -= held[key].size
                freed = f"{held[key].size / 1e9:.1f} GB"
                self._observer.note(f"dropped image {key[:12]} ({freed}) to stay below the disk limit")
        over = taken + wanted - self._limits.disk
        if over > 0 and not waiting:
            # Better late than never: what else could make room is needed.
            self._observer.note(
                f"{step.title} goes about {over / 1e9:.1f} GB beyond the disk limit: all is needed"
            )
        return over <= 0 or not waiting


def _step_task(step: Step) -> Task:
    return Task(kind=TaskKind.PREPARE, name=f"{step.title} [{step.key[:6]}]", download=step.download)


def _job_task(job: Job) -> Task:
    return Task(kind=TaskKind.EXECUTE, name=job.cell)
