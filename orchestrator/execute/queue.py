"""What is still to be done in a run, and what of it can start now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.devices import Busy, Grant, Unusable
from orchestrator.execute.port import Job, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orchestrator.execute.port import Plan, Runtime
    from orchestrator.model import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A job that no device can be had for."""

    job: Job
    reason: str


class Queue:
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
        self.waits = False
        """Whether a job was passed over because its device is taken."""
        self.waits_elsewhere: str | None = None
        """The cell of the first job that had to wait for another run's device, until somebody was told."""
        self._told = False

    @property
    def building(self) -> bool:
        """Whether there is a step that can still be prepared, for its own sake."""
        return bool(self._goals and self._waiting)

    def environment(self, job: Job) -> Step:
        """Return the step that a job runs in."""
        return self._plan.steps[self._plan.environments[job.lock.digest]]

    def next(self, acquire: Callable[[Device], Grant | Busy | Unusable]) -> Step | Job | Refused | None:
        """Take the next thing that can start: a job whose environment and device are there, else a step.

        A job whose device is taken keeps its place, and those behind it that need another device go first.
        """
        self.waits = False
        taken: set[Device] = set()
        for job in self._queued:
            if job.device in taken or self.environment(job).key not in self._there:
                continue
            found = acquire(job.device)
            if isinstance(found, Busy):
                taken.add(job.device)
                self.waits = True
                if found.elsewhere and not self._told:
                    self._told, self.waits_elsewhere = True, job.cell
                continue
            self._queued.remove(job)
            if isinstance(found, Unusable):
                return Refused(job=job, reason=found.reason)
            return replace(job, grant=found)
        for step in self._waiting.values():
            if step.parent is None or step.parent in self._there:
                del self._waiting[step.key]
                return step
        return None

    def put_back(self, step: Step) -> None:
        """Take a step back, as the next."""
        self._waiting = {step.key: step, **self._waiting}

    def prepared(self, step: Step) -> None:
        """Take note that a step is there."""
        self._there.add(step.key)

    def ran(self, job: Job) -> None:
        """Take note that a job ended."""
        self.jobs = [one for one in self.jobs if one.attempt != job.attempt]

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
