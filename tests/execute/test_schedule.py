import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchestrator.execute.port import RawAttempt, StepFailedError
from orchestrator.execute.progress import Silent
from orchestrator.execute.schedule import TRIES, Scheduler, Unprepared
from orchestrator.model import Limits
from schedules import FakeRuntime, job, tree


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
