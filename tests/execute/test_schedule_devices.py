"""The scheduler with cells that need GPUs: none is given out twice, none waits for ever."""

import random
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from gpus import several
from orchestrator.devices import Health, Pool
from orchestrator.devices.xpu import IntelGpus
from orchestrator.execute.port import RawAttempt
from orchestrator.execute.progress import Silent
from orchestrator.execute.schedule import TRIES, Scheduler
from orchestrator.model import Device, GpuUse
from schedules import FakeRuntime, job, tree


class Well(IntelGpus):
    def health(self, unit):
        return Health()


class Gpus(FakeRuntime):
    """A runtime whose cells compute on GPUs for a moment; `fate` says what becomes of each attempt."""

    def __init__(self, there, fate=lambda job: RawAttempt(exit_code=0), hold=0.002):
        super().__init__(there=there)
        self.fate, self.hold = fate, hold
        self.on = defaultdict(list)
        self.now = Counter()
        self.most_on = Counter()
        self.guard = threading.Lock()
        self.order = random.Random(6)  # noqa: S311 - not a secret

    def execute(self, job, step, say, cancel):
        self._begin("execute", job.cell)
        unit = job.grant.part.title if job.grant.part else "processor"
        try:
            with self.guard:
                self.on[unit].append(job.cell)
                self.now[unit] += 1
                self.most_on[unit] = max(self.most_on[unit], self.now[unit])
                pause = self.hold * self.order.random()
            cancel.wait(pause)
            return replace(RawAttempt(cancelled=True), exit_code=None) if cancel.is_set() else self.fate(job)
        finally:
            with self.guard:
                self.now[unit] -= 1
            self._end()


def pool(tmp_path, count, **use):
    locks = tmp_path / "locks"
    locks.mkdir(exist_ok=True)
    made = several(tmp_path / f"host-{len(list(tmp_path.iterdir()))}", count, tiles=use.pop("gpu_tiles", 0))
    return Pool({Device.XPU: GpuUse(**use)}, host=made, directory=locks, backends={Device.XPU: Well()})


def gpu_jobs(count, prefix="c"):
    return [replace(job(f"{prefix}{n:02}", "x"), device=Device.XPU) for n in range(count)]


def run(runtime, devices, jobs, *, width=50, cancel=None, harvest=None, observer=None):
    ended = {}

    def keep(job, raw):
        ended[job.cell] = raw
        if harvest:
            harvest(job)

    plan = tree({"x": None}, [(one, "x") for one in jobs])
    with ThreadPoolExecutor(max_workers=width) as executor:
        Scheduler(
            runtime,
            executor,
            width=width,
            limits=jobs[0].limits,
            observer=observer or Silent(),
            cancel=cancel or threading.Event(),
            backoff=lambda _attempt: 0.0,
            devices=devices,
        ).run(plan, jobs, keep)
    return ended


@pytest.mark.parametrize("gpus", [1, 2, 3, 7])
def test_fifty_cells_at_once_never_share_a_gpu_and_all_are_run(tmp_path, gpus):
    runtime, jobs = Gpus(["x"]), gpu_jobs(50)
    ended = run(runtime, pool(tmp_path, gpus), jobs)
    assert sorted(ended) == [one.cell for one in jobs]
    assert set(runtime.most_on.values()) == {1}
    assert len(runtime.on) == gpus
    assert max(map(len, runtime.on.values())) - min(map(len, runtime.on.values())) <= 50 // gpus


def test_crashes_and_what_never_started_give_their_gpu_back(tmp_path):
    tried = Counter()

    def fate(job):
        tried[job.cell] += 1
        number = int(job.cell[1:])
        if number % 5 == 0:
            return RawAttempt(signal=11)
        if number % 7 == 0:
            return RawAttempt(started=False, failure="the engine was restarted")
        return RawAttempt(exit_code=0)

    runtime, jobs = Gpus(["x"], fate), gpu_jobs(50)
    ended = run(runtime, pool(tmp_path, 2), jobs)
    assert len(ended) == 50
    assert set(runtime.most_on.values()) == {1}
    assert tried["c07"] == TRIES


def test_a_runtime_that_raises_gives_its_gpu_back(tmp_path):
    def fate(job):
        raise ZeroDivisionError

    devices = pool(tmp_path, 1)
    with pytest.raises(ZeroDivisionError):
        run(Gpus(["x"], fate), devices, gpu_jobs(3))
    assert run(Gpus(["x"]), devices, gpu_jobs(1))["c00"].exit_code == 0


def test_sharing_and_tiles_hold_as_many_as_they_say(tmp_path):
    runtime = Gpus(["x"], hold=0.3)  # as long as a busy host may take to hand out the next
    run(runtime, pool(tmp_path, 2, shared=3), gpu_jobs(50))
    assert set(runtime.most_on.values()) == {3}
    runtime = Gpus(["x"], hold=0.02)
    run(runtime, pool(tmp_path, 2, gpu_tiles=2, tiles=True), gpu_jobs(50))
    assert len(runtime.on) == 4
    assert set(runtime.most_on.values()) == {1}


def test_five_runs_on_one_host_never_share_a_gpu_and_none_starves(tmp_path):
    """Each run has a pool of its own, as in a process of its own; the locks are all that they have in common."""
    runtimes = [Gpus(["x"]) for _ in range(5)]
    shared = runtimes[0]
    for other in runtimes[1:]:
        other.guard, other.now, other.most_on = shared.guard, shared.now, shared.most_on
    ended = [{} for _ in runtimes]

    def one(number):
        ended[number] = run(runtimes[number], pool_of[number], gpu_jobs(10))

    pool_of = [pool(tmp_path, 2) for _ in runtimes]
    threads = [threading.Thread(target=one, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [len(found) for found in ended] == [10] * 5
    assert set(shared.most_on.values()) == {1}


def test_a_cancel_ends_what_waits_and_what_runs(tmp_path):
    cancel = threading.Event()
    devices = pool(tmp_path, 2)
    ended = run(Gpus(["x"], hold=0.05), devices, gpu_jobs(50), cancel=cancel, harvest=lambda _job: cancel.set())
    assert 1 <= len(ended) <= 2
    assert len(run(Gpus(["x"]), devices, gpu_jobs(4))) == 4


def test_whoever_waits_for_a_gpu_keeps_no_thread_from_others(tmp_path):
    """Of two threads one computes on the only GPU; the other runs everything that needs none meanwhile."""
    others = [job(f"z{n}", "x") for n in range(6)]
    done = threading.Semaphore(0)

    def fate(job):
        if job.device is Device.CPU:
            done.release()
        else:
            for _ in others:
                assert done.acquire(timeout=30)
            for _ in others:
                done.release()
        return RawAttempt(exit_code=0)

    runtime = Gpus(["x"], fate)
    ended = run(runtime, pool(tmp_path, 1), [*gpu_jobs(3), *others], width=2)
    assert {raw.exit_code for raw in ended.values()} == {0}
    assert runtime.most <= 2


def test_a_wedged_gpu_is_not_used_again_and_its_cell_is_not_tried_on_the_next(tmp_path):
    def fate(job):
        if job.cell == "c03":
            return RawAttempt(started=False, survived=True, failure="the container does not end")
        return RawAttempt(exit_code=0)

    runtime, devices = Gpus(["x"], fate), pool(tmp_path, 2)
    ended = run(runtime, devices, gpu_jobs(20), width=4)
    assert len(ended) == 20
    assert runtime.log.count(("execute", "c03")) == 1
    assert sum(raw.exit_code == 0 for raw in ended.values()) == 19
    wedged = next(unit for unit, cells in runtime.on.items() if "c03" in cells)
    assert runtime.on[wedged][-1] == "c03"
    assert any(f"{wedged} was put into quarantine" in notice for notice in devices.notices)


def test_cells_whose_last_gpu_is_wedged_are_told_why(tmp_path):
    def fate(job):
        return RawAttempt(started=False, survived=True, failure="the container does not end")

    ended = run(Gpus(["x"], fate), pool(tmp_path, 1), gpu_jobs(5), width=1)
    assert len(ended) == 5
    assert {raw.started for raw in ended.values()} == {False}
    (first, *rest) = [raw.failure for raw in ended.values()]
    assert first == "the container does not end"
    assert all("no GPU can be used: 0000:03:00.0: in quarantine since" in failure for failure in rest)
    assert all("the container does not end" in failure for failure in rest)


def test_waiting_for_another_run_is_told_once(tmp_path):
    class Notes(Silent):
        def __init__(self):
            self.said = []

        def note(self, line):
            self.said.append(line)
            lease.release()

    holder, notes = pool(tmp_path, 1), Notes()
    holder._gates[Device.XPU].health(holder._backends[Device.XPU].units(holder._host)[0])
    lease = holder._opened.leases.take("0000:03:00.0")
    ended = run(Gpus(["x"]), pool(tmp_path, 1), gpu_jobs(3), observer=notes)
    assert len(ended) == 3
    assert notes.said == ["c00 waits for a GPU: other runs have all of them"]
