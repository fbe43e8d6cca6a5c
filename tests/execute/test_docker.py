"""The docker runtime on a real engine: whatever a probe does, its attempt is told right and nothing stays."""

from __future__ import annotations

import io
import json
import subprocess
import threading
import time
from dataclasses import replace

import pytest

from containers import BASE, Bench, Brief, distribution, lock, payload, prepared, quiet, settings, wheels
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.docker import DockerRuntime, engine_missing
from orchestrator.execute.docker_container import reap, remove
from orchestrator.execute.ladder import LADDER
from orchestrator.execute.owner import owner
from orchestrator.images import connect, reference
from orchestrator.model import Device, Limits
from wheelhouse import Wheelhouse

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def podman(api):
    return "Podman" in str(api.version()["Components"])


QUICK = tuple((number, 2.0) for number, _ in LADDER)


@pytest.fixture(scope="module")
def api():
    client = connect(30)
    yield client
    client.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    directory = tmp_path_factory.mktemp("docker")
    house = Wheelhouse(directory / "house")
    wheel = house.add("thing", "1.0", {"thing/__init__.py": "__version__ = '1.0'\n"})
    runtime = DockerRuntime(
        directory / "cache",
        settings("classic"),
        wheels(directory),
        payload=payload(directory / "payload"),
        ladder=QUICK,
    )
    locked = lock(distribution(wheel))
    step = prepared(runtime, runtime.base(BASE, quiet), locked)
    yield Bench(runtime, step, locked, directory)
    runtime.discard(step.key)
    runtime.close()


@pytest.fixture(autouse=True)
def nothing_stays(api):
    before = unused_volumes(api)
    yield
    # By name: other runs may be under way on the same engine.
    assert api.containers(all=True, filters={"name": "orchestrator-test-docker"}) == []
    assert unused_volumes(api) <= before


def unused_volumes(api):
    found = api.volumes(filters={"dangling": True})["Volumes"]
    return {volume["Name"] for volume in found or ()}


def test_result(bench):
    raw = bench.run("open(out + '/junit.xml', 'w').write('<x/>'); import thing; print('hello', thing.__version__)")
    assert (raw.exit_code, raw.signal, raw.started, raw.failure) == (0, None, True, None)
    assert raw.artifacts == {"junit.xml": b"<x/>"}
    assert raw.refused == {}
    assert raw.log == "hello 1.0\n"
    assert (bench.last.directory / "log.txt").read_text() == "hello 1.0\n"
    assert (bench.last.directory / "out/junit.xml").read_bytes() == b"<x/>"
    assert 0 < raw.duration < 60


def test_job_description(bench):
    raw = bench.run("print(json.dumps(job))", nodeids=("print(json.dumps(job))", "b::c"))
    job = json.loads(raw.log)
    assert job == {
        "attempt": bench.last.attempt,
        "pins": {"thing": "1.0"},
        "modules": [["thing", "thing"]],
        "nodeids": ["print(json.dumps(job))", "b::c"],
        "probe_timeout": 120.0,
        "import_timeout": 120,
        "probes": "/probes",
        "runner": "/runner",
        "system_packages": [],
        "toolkit": "",
    }


INSIDE = """
import resource, socket
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
def tried(path):
    try:
        open(path, "w").close()
        return True
    except OSError:
        return False
print(json.dumps({
    "caps": status["CapEff"].strip(), "bounding": status["CapBnd"].strip(),
    "privileges": status["NoNewPrivs"].strip(), "seccomp": status["Seccomp"].strip(), "uid": os.getuid(),
    "net": sorted(os.listdir("/sys/class/net")), "core": resource.getrlimit(resource.RLIMIT_CORE),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    "written": [d for d in ("", "/opt/venv", "/probes", "/runner", "/payload", "/in", "/etc") if tried(d + "/x")],
    "free": [p for p in ("/tmp/x", "/out/x") if tried(p)],
    "tmp": next(line.split()[3] for line in open("/proc/mounts") if line.split()[1] == "/tmp"),
    "env": dict(os.environ), "parent": open("/proc/1/comm").read().strip(),
}))
"""


def test_hardened_from_the_inside(bench):
    inside = json.loads(bench.run(INSIDE, environment={"ANSWER": "42"}, device=Device.XLA).log)
    assert int(inside["caps"], 16) == 0
    assert int(inside["bounding"], 16) == 0
    assert inside["privileges"] == "1"
    assert inside["seccomp"] == "2"
    assert inside["uid"] != 0
    assert inside["net"] == ["lo"]
    assert inside["core"] == [0, 0]
    assert inside["files"] == 16384
    assert inside["written"] == []
    assert inside["free"] == ["/tmp/x", "/out/x"]
    options = inside["tmp"].split(",")
    assert {"rw", "nosuid", "nodev"} <= set(options)
    assert "noexec" not in options
    assert inside["parent"] in ("docker-init", "tini", "podman-init")
    environment = inside["env"]
    assert environment["ANSWER"] == "42"
    assert environment["HOME"] == "/tmp/home"
    assert environment["USER"] == environment["LOGNAME"] == "probe"
    assert environment["PJRT_DEVICE"] == "CPU"
    assert environment["PYTHONUNBUFFERED"] == environment["PYTHONFAULTHANDLER"] == "1"
    assert not any("proxy" in name.lower() or "cert" in name.lower() for name in environment)


def test_hardened_from_the_outside(bench, api, podman):
    job = bench.job("pass")
    (job.directory / "in").mkdir()
    spec = bench.runtime._spec(job, bench.step)
    identity = spec.create(api)
    try:
        found = api.inspect_container(identity)
    finally:
        api.remove_container(identity, v=True, force=True)
    host = found["HostConfig"]
    assert host["NetworkMode"] == "none"
    # Podman lists what it would have given: `test_hardened_from_the_inside` sees that nothing is left.
    assert host["CapDrop"] == ["ALL"] or (podman and {"CHOWN", "SETUID", "KILL"} < set(host["CapDrop"]))
    assert not host["CapAdd"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["ReadonlyRootfs"]
    assert not host["Privileged"]
    assert host["Memory"] == host["MemorySwap"] == 512 * 1024**2
    assert host["ShmSize"] == 64 * 1024**2
    assert host["PidsLimit"] == 64
    assert host["Init"]
    assert host["IpcMode"] == ("shareable" if podman else "private")
    assert not host["AutoRemove"]
    # Podman's interface does not tell the options.
    assert host["LogConfig"]["Type"] == "json-file"
    assert podman or host["LogConfig"]["Config"] == {"max-size": "20m", "max-file": "2"}
    assert not host["Devices"]
    assert {m["Destination"]: m["RW"] for m in found["Mounts"]} == {
        "/probes": False, "/runner": False, "/payload": False, "/in": False, "/out": True,
    }  # fmt: skip
    assert found["Config"]["StopSignal"] == ("2" if podman else "SIGINT")
    assert found["Config"]["Labels"]["io.orchestrator.cell"] == "cell"
    assert found["Name"].startswith("/orchestrator-test-")


def test_command_does_the_same(bench):
    code = "print('uid', os.getuid(), 'caps', open('/proc/self/status').read().split('CapEff:')[1].split()[0])"
    raw = bench.run(code)
    argv = bench.runtime.command(bench.last, bench.step)
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout == raw.log


@pytest.mark.parametrize(
    ("code", "exit_code", "number"),
    [
        ("sys.exit(3)", 3, None),
        ("os._exit(127)", 127, None),
        ("os._exit(0)", 0, None),
        ("os.kill(os.getpid(), 11)", None, 11),
        ("os.abort()", None, 6),
        ("os.kill(os.getpid(), 9)", None, 9),
        ("import ctypes; ctypes.string_at(0)", None, 11),
        ("m = open('/dev/shm/x', 'wb'); m.truncate(1 << 30); import mmap\n"
         "b = mmap.mmap(os.open('/dev/shm/x', os.O_RDWR), 1 << 27)\nfor i in range(0, 1 << 27, 4096): b[i] = 1",
         None, 7),
    ],
)  # fmt: skip
def test_endings(bench, code, exit_code, number):
    raw = bench.run(code)
    assert raw.started
    assert (raw.exit_code, raw.signal) == (exit_code, number)
    assert not raw.out_of_memory
    assert not raw.deadline_passed


def test_last_words_before_a_hard_exit(bench):
    assert bench.run("print('incompatible'); os._exit(127)").log == "incompatible\n"


def test_out_of_memory(bench, podman):
    raw = bench.run("b = bytearray(1 << 30)", limits=Limits(memory=64 * 1024**2, shm=1024**2))
    assert raw.signal == 9
    assert raw.out_of_memory or podman  # 4.3 does not always see it
    assert not raw.deadline_passed


def test_child_out_of_memory(bench, podman):
    code = "import subprocess; print(subprocess.call([sys.executable, '-c', 'b = bytearray(1 << 30)']))"
    raw = bench.run(code, limits=Limits(memory=64 * 1024**2, shm=1024**2))
    assert raw.exit_code == 0
    assert raw.out_of_memory or podman
    assert raw.log == "-9\n"


def test_fork_bomb_is_capped(bench):
    code = (
        "import subprocess\nps = []\n"
        "try:\n    while True: ps.append(subprocess.Popen(['sleep', '60']))\n"
        "except OSError as error: print(len(ps) < 64, error.errno)"
    )
    assert bench.run(code).log == "True 11\n"


def test_deadline_keeps_what_was_written_on_interrupt(bench):
    code = (
        "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n"
        "    open(out + '/junit.xml', 'w').write('partial'); sys.exit(2)"
    )
    raw = bench.run(code, kind=Brief)
    assert raw.deadline_passed
    assert not raw.cancelled
    assert raw.exit_code == 2
    assert raw.artifacts == {"junit.xml": b"partial"}


def test_stubborn_process_is_killed(bench):
    code = (
        "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\nprint('here')\ntime.sleep(120)"
    )
    start = time.monotonic()
    raw = bench.run(code, kind=Brief)
    assert time.monotonic() - start < 20
    assert raw.deadline_passed
    assert raw.signal == 9
    assert not raw.out_of_memory
    assert raw.log == "here\n"


def test_cancel(bench):
    cancel = threading.Event()
    timer = threading.Timer(1.0, cancel.set)
    timer.start()
    raw = bench.run("import time; time.sleep(60)", cancel=cancel)
    timer.join()
    assert raw.cancelled
    assert not raw.deadline_passed
    assert raw.duration < 20


def test_grandchildren_go_with_the_container(bench):
    code = "import subprocess; subprocess.Popen(['sleep', '300'], start_new_session=True); print('left')"
    raw = bench.run(code)
    assert raw.exit_code == 0
    assert raw.duration < 20


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os.symlink('/etc/passwd', out + '/junit.xml')", "is a symbolic link"),
        ("os.mkfifo(out + '/junit.xml')", "is a FIFO"),
        ("os.mkdir(out + '/junit.xml')", "is a directory"),
        ("import socket; socket.socket(socket.AF_UNIX).bind(out + '/junit.xml')", "is a socket"),
        ("open(out + '/junit.xml', 'w').truncate(1 << 40)", "is too large"),
    ],
)
def test_traps_in_the_result_directory(bench, code, reason):
    start = time.monotonic()
    raw = bench.run(code + "; open(out + '/report.jsonl', 'w').write('{}')")
    assert time.monotonic() - start < 20
    assert list(raw.refused) == ["junit.xml"]
    assert reason in raw.refused["junit.xml"]
    assert raw.artifacts == {"report.jsonl": b"{}"}


def test_unexpected_files_are_not_transferred(bench):
    raw = bench.run(
        "open(out + '/a-sparse', 'w').truncate(1 << 40); open(out + '/junit.xml', 'w').write('x')\n"
        "for i in range(2000): open(out + f'/many-{i}', 'w').close()"
    )
    assert raw.artifacts == {"junit.xml": b"x"}
    assert sorted(p.name for p in (bench.last.directory / "out").iterdir()) == ["junit.xml"]


def test_endless_output_is_bounded(bench):
    raw = bench.run(
        "w = sys.stdout.buffer.write; w(b'first line\\n')\n"
        "for _ in range(1600): w(b'x' * 65536)\n"
        "w(b'\\xff last line')"
    )
    assert raw.exit_code == 0
    assert raw.log.startswith("first line\n")
    assert raw.log.endswith("\ufffd last line")
    assert "bytes left out" in raw.log
    assert (bench.last.directory / "log.txt").stat().st_size < 2.1 * 1024**2


def test_waits_for_a_process_that_closed_its_output(bench):
    raw = bench.run(
        "import time; print('bye'); os.close(1); os.close(2)\n"
        "time.sleep(2); open(out + '/junit.xml', 'w').write('x')"
    )
    assert raw.artifacts == {"junit.xml": b"x"}
    assert raw.duration >= 2


def test_container_that_cannot_start(bench, tmp_path):
    said = []
    raw = bench.run("pass", probes=tmp_path / "nowhere", say=said.append)
    assert not raw.started
    assert (raw.exit_code, raw.signal) == (None, None)
    assert "nowhere" in raw.failure
    assert said == [raw.failure]


def test_program_that_is_missing(bench, api):
    empty = replace(bench.step, key="0" * 64)
    api.import_image_from_data(io.BytesIO(b"\0" * 10240).getvalue(), repository=reference("0" * 64))
    try:
        raw = bench.runtime.execute(bench.job("pass"), empty, quiet, threading.Event())
    finally:
        api.remove_image(reference(empty.key))
    assert not raw.started
    assert raw.exit_code is None
    assert "No such file" in raw.failure


def test_leftover_of_a_dead_attempt_is_replaced(bench, api):
    job = bench.job("print('mine')")
    (job.directory / "in").mkdir()
    left = bench.runtime._spec(job, bench.step).create(api)
    raw = bench.runtime.execute(job, bench.step, quiet, threading.Event())
    assert raw.log == "mine\n"
    assert left not in [c["Id"] for c in api.containers(all=True)]


def test_containers_of_a_killed_run_go_and_those_of_others_stay(bench, api):
    labels = owner()
    fates = {}
    for name, changes in {
        "dead": {"started": "1"},
        "alive": {},
        "elsewhere": {"host": "x", "started": "1"},
    }.items():
        carried = labels | {f"io.orchestrator.{key}": value for key, value in changes.items()}
        image = reference(bench.step.key)
        fates[name] = api.create_container(image, ["x"], name=f"reaping-{name}", labels=carried)["Id"]
    try:
        assert reap(api) >= 1
        there = {container["Id"] for container in api.containers(all=True)}
        assert {name for name, identity in fates.items() if identity in there} == {"alive", "elsewhere"}
    finally:
        for identity in fates.values():
            remove(api, identity)


def test_second_try_sees_nothing_of_the_first(bench):
    bench.run("open(out + '/junit.xml', 'w').write('old')")
    again = replace(bench.last, nodeids=("pass",))
    raw = bench.runtime.execute(again, bench.step, quiet, threading.Event())
    assert raw.artifacts == {}
    assert list((again.directory / "out").iterdir()) == []


def test_a_job_that_was_given_no_device(bench):
    raw = bench.run("pass", device=Device.XPU)
    assert not raw.started
    assert raw.failure == "no xpu was given to this cell"


def test_many_at_once(bench):
    jobs = [bench.job(f"open(out + '/junit.xml', 'w').write('{i}')") for i in range(8)]
    results = []

    def one(i):
        results.append(bench.runtime.execute(jobs[i], bench.step, quiet, threading.Event()))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(raw.artifacts["junit.xml"] for raw in results) == [str(i).encode() for i in range(8)]


def test_no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    start = time.monotonic()
    reason = engine_missing()
    assert reason is not None
    assert "nothing.sock" in reason
    with pytest.raises(EnvironmentUnusableError) as caught:
        DockerRuntime(tmp_path, settings("auto"), wheels(tmp_path))
    assert "DOCKER_HOST" in caught.value.hint
    assert time.monotonic() - start < 5
