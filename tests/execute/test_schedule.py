import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.execute.port import Base, Held, Job, Plan, RawAttempt, Step, StepFailedError
from orchestrator.execute.progress import Silent
from orchestrator.execute.schedule import TRIES, Scheduler, Unprepared
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


def run(runtime, plan, jobs, *, width=1, limits=None, cancel=None, harvest=None):
    ended = {}

    def keep(job, raw):
        ended[job.cell] = raw
        if harvest:
            harvest(job)

    with ThreadPoolExecutor(max_workers=width) as executor:
        Scheduler(
            runtime,
            executor,
            width=width,
            limits=limits or Limits(),
            observer=Silent(),
            cancel=cancel or threading.Event(),
            backoff=lambda _attempt: 0.0,
        ).run(plan, jobs, keep)
    return ended


A, B, C, D = job("a", "x"), job("b", "x", "y"), job("c", "z"), job("d", "w")
PLAN = tree({"x": None, "xy": "x", "z": None}, ((A, "x"), (B, "xy"), (C, "z")))


def test_parents_come_first_and_jobs_as_soon_as_their_environment_is_there():
    runtime = FakeRuntime()
    ended = run(runtime, PLAN, [C, B, A])
    assert set(ended) == {"a", "b", "c"}
    assert runtime.log == [
        ("prepare", "x"),
        ("execute", "a"),
        ("prepare", "xy"),
        ("execute", "b"),
        ("prepare", "z"),
        ("execute", "c"),
    ]


def test_the_subtree_with_most_to_fetch_begins_first():
    plan = tree({"x": None, "xy": "x", "z": None}, ((A, "x"), (B, "xy"), (C, "z")), {"x": 1, "xy": 1, "z": 3})
    runtime = FakeRuntime()
    run(runtime, plan, [A, B, C])
    assert [name for kind, name in runtime.log if kind == "execute"] == ["c", "a", "b"]


def test_what_is_there_is_not_made_again():
    runtime = FakeRuntime(there=("xy", "z"))
    run(runtime, PLAN, [B, C])
    assert [entry for entry in runtime.log if entry[0] == "prepare"] == []


def test_no_more_than_the_width_at_once():
    jobs = [job(f"j{n}", f"w{n}") for n in range(12)]
    plan = tree({f"w{n}": None for n in range(12)}, [(j, f"w{n}") for n, j in enumerate(jobs)])
    runtime = FakeRuntime()
    assert len(run(runtime, plan, jobs, width=3)) == 12
    assert runtime.most <= 3


def test_a_failed_step_fails_only_its_subtree_with_its_reason_and_log():
    runtime = FakeRuntime(failures={"x": [StepFailedError("no space", log="tail")]})
    ended = run(runtime, PLAN, [A, B, C])
    assert ended["a"] == ended["b"] == Unprepared(reason="no space", log="tail", transient=False)
    assert ended["c"].exit_code == 0
    assert ("prepare", "xy") not in runtime.log


@pytest.mark.parametrize("failures", range(1, TRIES + 1))
def test_a_passing_failure_is_tried_again_a_few_times(failures):
    errors = [StepFailedError("timed out", transient=True) for _ in range(failures)]
    runtime = FakeRuntime(failures={"z": errors})
    ended = run(runtime, PLAN, [C])
    assert isinstance(ended["c"], RawAttempt) == (failures < TRIES)
    assert runtime.log.count(("prepare", "z")) == min(failures + 1, TRIES)


def test_an_attempt_that_never_started_is_tried_again_and_one_that_did_is_not():
    never = RawAttempt(started=False, failure="engine restarted")
    runtime = FakeRuntime(there=("x", "z"), starts={"a": [never], "c": [RawAttempt(exit_code=1)]})
    ended = run(runtime, PLAN, [A, C])
    assert (ended["a"].exit_code, ended["c"].exit_code) == (0, 1)
    assert runtime.log.count(("execute", "a")) == 2
    assert runtime.log.count(("execute", "c")) == 1


def test_a_cancel_starts_nothing_more():
    cancel = threading.Event()
    runtime = FakeRuntime(there=("x", "xy", "z"))
    ended = run(runtime, PLAN, [A, B, C], cancel=cancel, harvest=lambda _job: cancel.set())
    assert list(ended) == ["a"]


def test_what_nobody_needs_is_dropped_before_the_disk_limit_and_what_is_needed_stays():
    sizes = {"x": 100, "xy": 100, "z": 100}
    plan = tree({"x": None, "xy": "x", "z": None}, ((A, "x"), (B, "xy"), (C, "z")), sizes)
    runtime = FakeRuntime(there=("foreign", "older"), weight=220)
    run(runtime, plan, [A, B, C], limits=Limits(disk=650))
    assert [entry[1] for entry in runtime.log if entry[0] == "discard"] == ["foreign", "older", "xy"]
    assert runtime.log[-1] == ("execute", "c")


def test_a_step_larger_than_the_limit_is_still_made_when_nothing_can_be_dropped():
    plan = tree({"z": None}, [(C, "z")], {"z": 10**12})
    assert run(FakeRuntime(), plan, [C])["c"].exit_code == 0


def build(runtime, plan, locks, *, width=1):
    lost = []
    with ThreadPoolExecutor(width) as executor:
        scheduler = Scheduler(
            runtime,
            executor,
            width=width,
            limits=Limits(),
            observer=Silent(),
            cancel=threading.Event(),
            backoff=lambda _: 0,
        )
        scheduler.build(plan, locks, lambda step, failure: lost.append((step.key, failure.reason)))
    return lost


def test_environments_are_built_for_their_own_sake():
    plan = tree({"x": None, "xy": "x", "z": None, "w": None}, ((A, "x"), (B, "xy"), (C, "z"), (D, "w")))
    runtime = FakeRuntime(there=("z",))
    assert build(runtime, plan, [B.lock.digest, C.lock.digest]) == []
    assert runtime.log == [("prepare", "x"), ("prepare", "xy")]


def test_what_stands_on_a_failed_step_is_not_built_and_the_rest_is():
    plan = tree({"x": None, "xy": "x", "z": None}, ((A, "x"), (B, "xy"), (C, "z")))
    runtime = FakeRuntime(failures={"x": [StepFailedError("no such wheel")]})
    assert build(runtime, plan, [lock.lock.digest for lock in (A, B, C)], width=2) == [("x", "no such wheel")]
    assert set(runtime.there) == {"z"}


def test_how_long_steps_took_is_told():
    plan = tree({"x": None, "xy": "x"}, ((A, "x"), (B, "xy")))
    took = {}
    with ThreadPoolExecutor(1) as executor:
        Scheduler(
            FakeRuntime(),
            executor,
            width=1,
            limits=Limits(),
            observer=Silent(),
            cancel=threading.Event(),
            took=lambda step, seconds: took.update({step.key: seconds}),
        ).run(plan, [A, B], lambda _job, _raw: None)
    assert set(took) == {"x", "xy"}
    assert all(seconds >= 0 for seconds in took.values())
