"""Steps, jobs and a runtime in memory, for tests of the scheduler."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.execute.port import Base, Held, Job, Plan, RawAttempt, Step
from orchestrator.model import Device, Distribution, Limits, Lock
from orchestrator.versions import Version

BASE = Base(python="3.11", digest="base", reference="base", origin="fake")


def wheel(name, size=None):
    return Distribution(name=name, version=Version("1"), url=f"file:///{name}", sha256=name, size=size, index="i")


def lock(*names):
    return Lock(python="3.11", platform="p", as_of=None, distributions=tuple(map(wheel, names)))


def job(cell, *names):
    return Job(
        attempt=f"attempt-{cell}",
        cell=cell,
        lock=lock(*names),
        device=Device.CPU,
        probes=Path("probes"),
        runner=Path("runner"),
        nodeids=("test_it.py::test_it",),
        modules=(),
        environment={},
        limits=Limits(),
        directory=Path("attempt"),
    )


def tree(parents, environments, sizes=None):
    """A plan from {step: parent} and (job, step) pairs; a step's wheel has `sizes[step]` bytes."""
    steps = {
        key: Step(
            key=key, parent=parent, base=BASE, platform="p", distributions=(wheel(key, (sizes or {}).get(key, 0)),)
        )
        for key, parent in parents.items()
    }
    return Plan(steps=steps, environments={job.lock.digest: key for job, key in environments})


class FakeRuntime:
    """Keeps what was prepared in memory; `failures` are raised, in order, when a step is prepared."""

    name = "fake"
    notices = ()

    def __init__(self, there=(), failures=None, starts=None, weight=0):
        self.failures = failures or {}
        self.starts = starts or {}
        self.weight = weight
        self.there = {}
        for key in there:
            self._make(key, None)
        self.log = []
        self.most = 0
        self._active = 0
        self._lock = threading.Lock()

    def _make(self, key, parent):
        used = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=len(self.there))
        self.there[key] = Held(
            key=key, parent=parent, base="base", platform="p", wheels=(), size=self.weight, used=used
        )

    def _begin(self, *entry):
        with self._lock:
            self.log.append(entry)
            self._active += 1
            self.most = max(self.most, self._active)

    def _end(self):
        with self._lock:
            self._active -= 1

    def base(self, image, say):
        raise NotImplementedError

    def plan(self, locks):
        raise NotImplementedError

    def ready(self, step):
        return step.key in self.there

    def prepare(self, step, limits, say, cancel):
        self._begin("prepare", step.key)
        try:
            assert step.parent is None or step.parent in self.there, "the parent must be there first"
            if self.failures.get(step.key):
                raise self.failures[step.key].pop(0)
            self._make(step.key, step.parent)
        finally:
            self._end()

    def execute(self, job, step, say, cancel):
        self._begin("execute", job.cell)
        try:
            assert step.key in self.there, "the environment must be there"
            if self.starts.get(job.cell):
                return self.starts[job.cell].pop(0)
            return RawAttempt(exit_code=0)
        finally:
            self._end()

    def expect(self, steps):
        self.expected = [step.key for step in steps]

    def held(self):
        return dict(self.there)

    def discard(self, key):
        self.log.append(("discard", key))
        self.there.pop(key, None)
        return True

    def command(self, job, step):
        return ()

    def recipe(self, step):
        return ""
