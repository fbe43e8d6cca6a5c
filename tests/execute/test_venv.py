"""The venv runtime: whatever a probe does, its attempt is told right and no process stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from containers import BASE, Bench, Brief, distribution, lock, payload, prepared, quiet, wheels
from orchestrator.devices import Grant
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.ladder import LADDER
from orchestrator.execute.port import Runtime, Step, StepFailedError
from orchestrator.execute.process import marked
from orchestrator.execute.venv import VenvRuntime
from orchestrator.model import Device, Fingerprint, Limits
from orchestrator.versions import Version
from wheelhouse import Wheelhouse

QUICK = tuple((number, 2.0) for number, _ in LADDER)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    directory = tmp_path_factory.mktemp("venv")
    wheel = Wheelhouse(directory / "house").add("thing", "1.0", {"thing/__init__.py": "__version__ = '1.0'\n"})
    runtime = VenvRuntime(
        directory / "cache", wheels(directory), payload=payload(directory / "payload"), ladder=QUICK
    )
    locked = lock(distribution(wheel))
    step = prepared(runtime, runtime.base(BASE, quiet), locked)
    return Bench(runtime, step, locked, directory)


def test_is_a_runtime(bench):
    runtime: Runtime = bench.runtime
    assert runtime.name == "venv"
    assert "unsandboxed" in runtime.notices[0]


def test_result(bench):
    raw = bench.run("open(out + '/junit.xml', 'w').write('<x/>'); import thing; print('hello', thing.__version__)")
    assert (raw.exit_code, raw.signal, raw.started, raw.failure) == (0, None, True, None)
    assert raw.artifacts == {"junit.xml": b"<x/>"}
    assert raw.log == "hello 1.0\n"
    assert (bench.last.directory / "log.txt").read_text() == "hello 1.0\n"


def test_job_description_names_paths_of_this_host(bench):
    job = json.loads(bench.run("print(json.dumps(job))").log)
    assert job["probes"] == str(bench.last.probes)
    assert job["pins"] == {"thing": "1.0"}


def test_only_the_lock_is_installed(bench):
    raw = bench.run("import importlib.metadata as m; print(sorted(d.name for d in m.distributions()))")
    assert raw.log == "['thing']\n"


def test_clean_environment(bench, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    raw = bench.run("print(json.dumps(dict(os.environ)))", environment={"ANSWER": "42"}, device=Device.XLA)
    seen = json.loads(raw.log)
    assert "hush" not in raw.log
    assert "PYTHONPATH" not in seen
    assert seen["ANSWER"] == "42"
    assert seen["PJRT_DEVICE"] == "CPU"
    assert seen["HOME"].startswith(seen["TMPDIR"])
    assert seen["USER"] == "probe"
    assert not Path(seen["HOME"]).exists(), "private to the attempt"


@pytest.mark.parametrize(
    ("code", "exit_code", "number"),
    [
        ("sys.exit(3)", 3, None),
        ("os._exit(127)", 127, None),
        ("os.kill(os.getpid(), 11)", None, 11),
        ("os.abort()", None, 6),
    ],
)
def test_endings(bench, code, exit_code, number):
    raw = bench.run(code)
    assert raw.started
    assert (raw.exit_code, raw.signal) == (exit_code, number)


def test_deadline_keeps_what_was_written_on_interrupt(bench):
    code = (
        "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n"
        "    open(out + '/junit.xml', 'w').write('partial'); sys.exit(2)"
    )
    raw = bench.run(code, kind=Brief)
    assert raw.deadline_passed
    assert raw.exit_code == 2
    assert raw.artifacts == {"junit.xml": b"partial"}


STUBBORN = (
    "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\nprint('here')\n{}\ntime.sleep(120)"
)


def test_stubborn_process_is_killed_with_its_children(bench):
    spawn = (
        "import subprocess\n"
        "a = subprocess.Popen(['sleep', '300'])\nb = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        "print(a.pid, b.pid)"
    )
    start = time.monotonic()
    raw = bench.run(STUBBORN.format(spawn), kind=Brief)
    assert time.monotonic() - start < 15
    assert raw.deadline_passed
    assert raw.signal == 9
    here, pids = raw.log.splitlines()
    assert here == "here"
    assert not any(runs(int(pid)) for pid in pids.split())


def test_children_left_behind_are_ended(bench):
    code = (
        "import subprocess\n"
        "print(*(subprocess.Popen(['sleep', '300'], start_new_session=n).pid for n in (False, True)))"
    )
    start = time.monotonic()
    raw = bench.run(code)
    assert time.monotonic() - start < 10, "they hold the log open"
    assert raw.exit_code == 0
    assert not any(runs(int(pid)) for pid in raw.log.split())


def runs(pid):
    time.sleep(0.1)
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_only_its_own_are_found():
    mark = "ORCHESTRATOR_PROCESS=test"
    argv = [sys.executable, "-c", "input()"]
    carrying = {**os.environ, "ORCHESTRATOR_PROCESS": "test"}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env=carrying) as child:
        assert marked(mark) == [child.pid]
        assert marked(mark + "2") == []
        child.kill()


def test_cancel(bench):
    cancel = threading.Event()
    timer = threading.Timer(0.5, cancel.set)
    timer.start()
    raw = bench.run("import time; time.sleep(60)", cancel=cancel)
    timer.join()
    assert raw.cancelled
    assert raw.duration < 10


def test_traps_in_the_result_directory(bench):
    raw = bench.run("os.symlink('/etc/passwd', out + '/junit.xml'); os.mkfifo(out + '/report.jsonl')")
    assert raw.artifacts == {}
    assert raw.refused == {"junit.xml": "is a symbolic link", "report.jsonl": "is a FIFO"}


def test_endless_output_is_bounded(bench):
    raw = bench.run(
        "w = sys.stdout.buffer.write; w(b'first\\n'); [w(b'x' * 65536) for _ in range(200)]; w(b'last')"
    )
    assert raw.log.startswith("first\n")
    assert raw.log.endswith("last")
    assert (bench.last.directory / "log.txt").stat().st_size < 2.1 * 1024**2


def test_second_try_sees_nothing_of_the_first(bench):
    bench.run("open(out + '/junit.xml', 'w').write('old')")
    again = replace(bench.last, nodeids=("pass",))
    assert bench.runtime.execute(again, bench.step, quiet, threading.Event()).artifacts == {}


def test_a_process_is_kept_to_its_gpu_whatever_host_and_matrix_say(bench, monkeypatch):
    for name in ("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "SYCL_CACHE_PERSISTENT", "NEOReadDebugKeys"):
        monkeypatch.setenv(name, "7")
    mark = Fingerprint(device="gpu", driver=None, system="Linux")
    grant = Grant(fingerprint=mark, confinement={"ZE_AFFINITY_MASK": "1"})
    told = "print({n: v for n, v in os.environ.items() if n.startswith(('ZE', 'ONEAPI', 'SYCL', 'NEO'))})"
    raw = bench.run(told, device=Device.XPU, grant=grant, environment={"ZE_AFFINITY_MASK": "0"})
    assert raw.log == "{'ZE_AFFINITY_MASK': '1'}\n"
    assert bench.run(told).log == "{}\n"


def test_a_job_that_was_given_no_device(bench):
    raw = bench.run("pass", device=Device.XPU)
    assert not raw.started
    assert raw.failure == "no xpu was given to this cell"


def test_environment_that_is_gone(bench):
    gone = replace(bench.step, key="0" * 64)
    raw = bench.runtime.execute(bench.job("pass"), gone, quiet, threading.Event())
    assert not raw.started
    assert "No such file" in raw.failure


def test_command_does_the_same(bench):
    raw = bench.run("print(sorted({*os.environ} - {'ORCHESTRATOR_PROCESS'}), sys.prefix)")
    argv = bench.runtime.command(bench.last, bench.step)
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout == raw.log


@pytest.mark.parametrize(("mode", "least"), [("copy", 100_000), ("hardlink", 0)])
def test_life_of_an_environment(tmp_path, monkeypatch, mode, least):
    monkeypatch.setenv("UV_LINK_MODE", mode)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    house = Wheelhouse(tmp_path / "house")
    wheel = house.add("thing", "2.0", {"thing/data": "x" * 100_000})
    runtime = VenvRuntime(tmp_path / "cache", wheels(tmp_path))
    said = []
    base = runtime.base(BASE, said.append)
    assert runtime.base(BASE, said.append) == base
    locked = lock(distribution(wheel))
    plan = runtime.plan([(locked, base), (locked, base)])
    (step,) = plan.steps.values()
    assert not runtime.ready(step)
    assert runtime.held() == {}
    runtime.prepare(step, Limits(), said.append, threading.Event())
    assert runtime.ready(step)
    assert least < runtime.held()[step.key].size < least + 100_000
    assert wheel.name in runtime.recipe(step)
    assert "uv venv" in runtime.recipe(step)
    runtime.discard(step.key)
    assert not runtime.ready(step)
    assert runtime.held() == {}
    runtime.discard(step.key)


def test_failed_installation_leaves_nothing(tmp_path):
    wheel = Wheelhouse(tmp_path / "house").add("thing", "2.0")
    runtime = VenvRuntime(tmp_path / "cache", wheels(tmp_path))
    locked = lock(distribution(wheel, sha256="0" * 64))
    with pytest.raises(StepFailedError) as caught:
        prepared(runtime, runtime.base(BASE, quiet), locked)
    assert "mismatch" in str(caught.value).lower()
    assert not caught.value.transient
    assert runtime.held() == {}
    assert [p for p in (tmp_path / "cache/venv/environments").iterdir() if p.suffix != ".lock"] == []


def test_half_made_environment_is_made_again(tmp_path):
    wheel = Wheelhouse(tmp_path / "house").add("thing", "2.0")
    runtime = VenvRuntime(tmp_path / "cache", wheels(tmp_path))
    locked = lock(distribution(wheel))
    step = prepared(runtime, runtime.base(BASE, quiet), locked)
    directory = tmp_path / "cache/venv/environments" / step.key
    (directory / "orchestrator-ready.json").unlink()
    (directory / "rubbish").touch()
    assert not runtime.ready(step)
    runtime.prepare(step, Limits(), quiet, threading.Event())
    assert runtime.ready(step)
    assert not (directory / "rubbish").exists()


def chain_of(runtime, *groups):
    """Prepare steps that stand on one another, each with some wheels; what they are called is their place."""
    base = runtime.base(BASE, quiet)
    steps = [
        Step(
            key=f"step-{place}",
            parent=f"step-{place - 1}" if place else None,
            base=base,
            platform="linux",
            distributions=group,
        )
        for place, group in enumerate(groups)
    ]
    for step in steps:
        runtime.prepare(step, Limits(), quiet, threading.Event())
    return steps


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return VenvRuntime(tmp_path / "cache", wheels(tmp_path), payload=payload(tmp_path / "payload"))


@pytest.fixture
def house(tmp_path):
    return Wheelhouse(tmp_path / "house")


SEEN = "import importlib.metadata as m; print(json.dumps({d.name: d.version for d in m.distributions()}))"


def test_a_child_sees_its_parents_wheels(fresh, house, tmp_path):
    big = distribution(house.add("big", "1.0", {"big/__init__.py": "", "big/data": "x" * 100_000}))
    small = distribution(house.add("small", "2.0", {"small.py": "import big; where = big.__file__"}))
    steps = chain_of(fresh, (big,), (small,), ())
    locked = lock(big, small)
    for step, seen in zip(steps, [{"big"}, {"big", "small"}, {"big", "small"}], strict=True):
        assert set(json.loads(Bench(fresh, step, locked, tmp_path / f"run-{step.key}").run(SEEN).log)) == seen
    bench = Bench(fresh, steps[1], locked, tmp_path / "run")
    raw = bench.run("import small; print(small.where.startswith(sys.prefix), sys.prefix)")
    assert raw.log == f"True {tmp_path}/cache/venv/environments/step-1\n"
    held = fresh.held()
    assert held["step-1"].size < 100_000, "what is big is its parent's"
    fresh.discard("step-0")
    assert fresh.ready(steps[0]), "others stand on it"


def test_a_plan_with_a_shared_step(fresh, house, tmp_path):
    big = distribution(house.add("big", "1.0"))
    ones = [distribution(house.add("thing", version)) for version in ("1.0", "2.0")]
    large = replace(big, size=10**9)
    locks = [lock(large, one) for one in ones]
    base = fresh.base(BASE, quiet)
    plan = fresh.plan([(locked, base) for locked in locks])
    assert len(plan.steps) == 3
    for step in plan.steps.values():
        fresh.prepare(step, Limits(), quiet, threading.Event())
    for locked, version in zip(locks, ("1.0", "2.0"), strict=True):
        bench = Bench(fresh, plan.chain(locked.digest)[-1], locked, tmp_path / f"run-{version}")
        assert json.loads(bench.run(SEEN).log) == {"big": "1.0", "thing": version}
    for locked in locks:
        alone = fresh.plan([(locked, base)])
        assert alone.chain(locked.digest) == plan.chain(locked.digest), "what is there is planned with"
    assert "uv venv" in fresh.recipe(plan.chain(locks[0].digest)[0])
    assert "uv venv" not in fresh.recipe(plan.chain(locks[0].digest)[1])


@pytest.mark.parametrize("mode", ["copy", "hardlink"])
def test_a_file_that_a_child_replaces_stays_as_it_was_in_its_parent(fresh, house, tmp_path, monkeypatch, mode):
    monkeypatch.setenv("UV_LINK_MODE", mode)
    parts = [distribution(house.add(name, "1.0", {"shared.py": f"who = {name!r}"})) for name in ("one", "two")]
    steps = chain_of(fresh, *((part,) for part in parts))
    for step, who in zip(steps, ("one", "two"), strict=True):
        raw = Bench(fresh, step, lock(*parts), tmp_path / f"run-{who}").run("import shared; print(shared.who)")
        assert raw.log == f"{who}\n"


def test_names_and_versions_are_compared_as_they_are_locked(fresh, house):
    odd = distribution(house.add("Foo_Bar", "1.0.0rc1"))
    local = distribution(house.add("local", "2.0+xpu.1"))
    assert fresh.ready(chain_of(fresh, (odd,), (local,))[-1])


def refused(runtime, *groups):
    with pytest.raises(StepFailedError) as caught:
        chain_of(runtime, *groups)
    assert not caught.value.transient
    return str(caught.value), caught.value.log


@pytest.mark.parametrize("below", [0, 1])
def test_what_is_installed_is_not_what_is_locked(fresh, house, below):
    """An index may serve one build under the version of another."""
    wrong = replace(distribution(house.add("thing", "1.0")), version=Version("1.0+xpu"))
    ground = distribution(house.add("ground", "1.0"))
    reason, log = refused(fresh, *[(ground,)] * below, (wrong,))
    assert reason == "what is installed is not what is locked: thing==1.0 thing==1.0+xpu"
    assert "thing==1.0" in log
    assert set(fresh.held()) == {f"step-{place}" for place in range(below)}


def test_a_wheel_that_takes_the_place_of_the_parents(fresh, house):
    old, new = (distribution(house.add("thing", version)) for version in ("1.0", "2.0"))
    reason, _ = refused(fresh, (old,), (new,))
    assert reason == "what is installed is not what is locked: thing==1.0"
    assert set(fresh.held()) == {"step-0"}


def test_a_wheel_that_is_another_than_its_name_says(fresh, house):
    wheel = house.add("thing", "1.0")
    other = wheel.with_name("thing-2.0-py3-none-any.whl")
    wheel.rename(other)
    reason, _ = refused(fresh, (distribution(other),))
    assert "1.0 != 2.0" in reason


def test_a_parent_that_is_gone(fresh, house):
    orphan = Step(key="orphan", parent="gone", base=fresh.base(BASE, quiet), platform="linux", distributions=())
    with pytest.raises(StepFailedError, match="cannot be written"):
        fresh.prepare(orphan, Limits(), quiet, threading.Event())
    assert not fresh.ready(orphan)


def test_threads_prepare_one_step(fresh, house):
    step = Step(
        key="one",
        parent=None,
        base=fresh.base(BASE, quiet),
        platform="linux",
        distributions=(distribution(house.add("thing", "1.0")),),
    )
    said = []
    threads = [
        threading.Thread(target=fresh.prepare, args=(step, Limits(), said.append, threading.Event()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == ["installing 1 distributions"]
    assert fresh.ready(step)


def test_a_run_is_a_use(fresh, house, tmp_path):
    (step,) = chain_of(fresh, ())
    marker = tmp_path / "cache/venv/environments/step-0/orchestrator-ready.json"
    os.utime(marker, (10**9, 10**9))
    assert fresh.held()["step-0"].used.year == 2001
    Bench(fresh, step, lock(), tmp_path / "run").run("pass")
    assert fresh.held()["step-0"].used.year > 2001


def test_nothing_to_install(tmp_path):
    runtime = VenvRuntime(tmp_path / "cache", wheels(tmp_path))
    assert runtime.ready(prepared(runtime, runtime.base(BASE, quiet), lock()))


def test_python_that_nobody_has(tmp_path, monkeypatch):
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    with pytest.raises(EnvironmentUnusableError) as caught:
        VenvRuntime(tmp_path, wheels(tmp_path)).base(replace(BASE, python="3.99"), quiet)
    assert "3.99" in str(caught.value)
    assert "\n" not in str(caught.value)
