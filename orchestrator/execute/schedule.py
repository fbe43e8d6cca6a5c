"""Which step or job next: parents first, jobs as soon as their environment is there, inside the disk limit."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.execute.port import Job, Plan, RawAttempt, Runtime, Step, StepFailedError
from orchestrator.execute.progress import Observer, Task, TaskKind
from orchestrator.execute.retention import drop_order
from orchestrator.planning.outlook import UNPACKED_PER_DOWNLOADED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from threading import Event

    from orchestrator.model import Limits

TRIES = 3
"""How often what failed for a passing reason (network, engine) is tried in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprepared:
    """A job that never ran because its environment could not be made."""

    reason: str
    log: str
    transient: bool


class Scheduler:
    """Prepares steps and executes jobs on an executor, at most `width` at a time.

    `harvest` is called in the calling thread with every job that ended, as soon as it did, so that nothing
    measured is lost whatever happens later. `took` is told how many seconds each step took, from its thread.
    """

    def __init__(
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
    ) -> None:
        self._runtime = runtime
        self._executor = executor
        self._width = width
        self._limits = limits
        self._observer = observer
        self._cancel = cancel
        self._backoff = backoff
        self._took = took

    def build(self, plan: Plan, locks: Iterable[str], failed: Callable[[Step, Unprepared], None]) -> None:
        """Prepare the environments of some locks (by digest) and keep them; `failed` hears of what cannot be."""
        self._work(_Queue(plan, (), self._runtime, goals=tuple(locks)), lambda _job, _raw: None, failed)

    def run(
        self, plan: Plan, jobs: Sequence[Job], harvest: Callable[[Job, RawAttempt | Unprepared], None]
    ) -> None:
        """Prepare what the jobs need and execute them; returns when all ended, or soon after a cancel."""
        self._work(_Queue(plan, jobs, self._runtime), harvest, lambda _step, _failure: None)

    def _work(
        self,
        queue: _Queue,
        harvest: Callable[[Job, RawAttempt | Unprepared], None],
        failed: Callable[[Step, Unprepared], None],
    ) -> None:
        self._observer.planned(
            tuple(map(_step_task, queue.steps.values())) + tuple(_job_task(job) for job in queue.jobs)
        )
        self._runtime.expect(tuple(queue.steps.values()))
        active: dict[Future[RawAttempt | None], Step | Job] = {}
        while queue.jobs or queue.building or active:
            while not self._cancel.is_set() and len(active) < self._width:
                item = queue.next()
                if isinstance(item, Step) and not self._room(queue, item, waiting=bool(active)):
                    queue.put_back(item)
                    break
                if item is None:
                    break
                active[self._submit(queue, item)] = item
            if not active:
                return  # cancelled
            done, _ = wait(active, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                self._finish(queue, active.pop(future), future, harvest, failed)

    def _submit(self, queue: _Queue, item: Step | Job) -> Future[RawAttempt | None]:
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
        task = _job_task(job)
        self._observer.started(task)

        def say(line: str) -> None:
            self._observer.said(task, line)

        raw = self._runtime.execute(job, step, say, self._cancel)
        for attempt in range(TRIES - 1):
            if raw.started or raw.cancelled or self._cancel.is_set():
                break
            pause = self._backoff(attempt)
            say(f"{raw.failure}; trying again in {pause:.0f} s")
            self._cancel.wait(pause)
            raw = self._runtime.execute(job, step, say, self._cancel)
        return raw

    def _finish(
        self,
        queue: _Queue,
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

    def _room(self, queue: _Queue, step: Step, *, waiting: bool) -> bool:
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


class _Queue:
    """Steps and jobs that are still to be done, and which environments exist.

    `goals` are locks (by digest) whose environments are wanted without any job.
    """

    def __init__(self, plan: Plan, jobs: Sequence[Job], runtime: Runtime, goals: tuple[str, ...] = ()) -> None:
        self._plan = plan
        place = _depth_first(plan)
        self.jobs = sorted(jobs, key=lambda job: place(job.lock.digest))
        self._goals = goals
        self._there: set[str] = set()
        self.steps: dict[str, Step] = {}
        for lock in (*(job.lock.digest for job in self.jobs), *sorted(goals, key=place)):
            missing: list[Step] = []
            for step in reversed(plan.chain(lock)):
                if step.key in self.steps or step.key in self._there:
                    break
                if runtime.ready(step):
                    self._there.add(step.key)
                    break
                missing.append(step)
            self.steps.update((step.key, step) for step in reversed(missing))
        self._waiting = dict(self.steps)
        self._queued = list(self.jobs)

    @property
    def building(self) -> bool:
        """Whether there is a step that can still be prepared, for its own sake."""
        return bool(self._goals and self._waiting)

    def environment(self, job: Job) -> Step:
        return self._plan.steps[self._plan.environments[job.lock.digest]]

    def next(self) -> Step | Job | None:
        """Take the next thing that can start: a job whose environment is there, else a step on what is there."""
        for job in self._queued:
            if self.environment(job).key in self._there:
                self._queued.remove(job)
                return job
        for step in self._waiting.values():
            if step.parent is None or step.parent in self._there:
                del self._waiting[step.key]
                return step
        return None

    def put_back(self, step: Step) -> None:
        self._waiting = {step.key: step, **self._waiting}

    def prepared(self, step: Step) -> None:
        self._there.add(step.key)

    def ran(self, job: Job) -> None:
        self.jobs.remove(job)

    def failed(self, step: Step) -> list[Job]:
        """Give up everything below a step; returns the jobs that will never run."""
        lost = [job for job in self.jobs if step in self._plan.chain(job.lock.digest)]
        for job in lost:
            self.jobs.remove(job)
            self._queued.remove(job)
        self._goals = tuple(lock for lock in self._goals if step not in self._plan.chain(lock))
        needed = self._pending()
        self._waiting = {key: value for key, value in self._waiting.items() if key in needed}
        return lost

    def needed(self) -> set[str]:
        """Return what pending jobs stand on, and what is still to be made or just being made."""
        return self._pending() | (set(self.steps) - self._there)

    def _pending(self) -> set[str]:
        locks = (*(job.lock.digest for job in self.jobs), *self._goals)
        steps = (step for lock in locks for step in self._plan.chain(lock))
        return {key for step in steps for key in (step.key, step.base.digest)}


def _depth_first(plan: Plan) -> Callable[[str], tuple[int, ...]]:
    """Order locks so that those of one subtree come together, the subtrees with most to fetch first.

    Together, because fewer layers are then alive at one time; the largest first, because a long build that begins
    last leaves the other workers idle.
    """
    order = {key: place for place, key in enumerate(plan.steps)}
    weight: dict[str, int] = {}
    for step in plan.steps.values():
        root = step
        while root.parent is not None:
            root = plan.steps[root.parent]
        weight[root.key] = weight.get(root.key, 0) + step.size

    def place(lock: str) -> tuple[int, ...]:
        chain = plan.chain(lock)
        return (-weight[chain[0].key], *(order[step.key] for step in chain))

    return place


def _step_task(step: Step) -> Task:
    return Task(kind=TaskKind.PREPARE, name=f"{step.title} [{step.key[:6]}]", download=step.download)


def _job_task(job: Job) -> Task:
    return Task(kind=TaskKind.EXECUTE, name=job.cell)
