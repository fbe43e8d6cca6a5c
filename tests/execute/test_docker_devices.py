"""GPUs in real containers: the node that was given, with its numbers, group and rights, and nothing else."""

import json
import os
import stat
import subprocess
from dataclasses import replace

import pytest

from containers import BASE, Bench, distribution, lock, payload, prepared, quiet, settings, wheels
from gpus import Card, host
from orchestrator.devices import Grant, Health, Pool
from orchestrator.devices.xpu import IntelGpus
from orchestrator.execute.docker import DockerRuntime
from orchestrator.execute.docker_container import remove
from orchestrator.execute.ladder import LADDER
from orchestrator.execute.owner import owner
from orchestrator.images import connect, reference
from orchestrator.model import Device, GpuUse
from wheelhouse import Wheelhouse

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(os.getuid() != 0, reason="only root makes device nodes"),
]

GROUP = 44444
NULL = os.makedev(1, 3)
"""What is behind the node that the tests make: nothing else is safe to open on every host."""

INSIDE = """
import os, stat
def walk(top):
    for name in sorted(os.listdir(top)):
        path = os.path.join(top, name)
        if os.path.islink(path) or not os.path.isdir(path):
            yield path
        elif path not in ("/dev/pts", "/dev/shm", "/dev/mqueue"):
            yield path + "/"
            yield from walk(path)
def tried(path, mode):
    try:
        with open(path, mode):
            return "opened"
    except OSError as error:
        return error.strerror
node = "/dev/dri/renderD128"
there = os.path.exists(node)
seen = os.stat(node) if there else None
print(json.dumps({
    "all": list(walk("/dev")),
    "numbers": there and [os.major(seen.st_rdev), os.minor(seen.st_rdev)],
    "kind": there and stat.S_IFMT(seen.st_mode) == stat.S_IFCHR,
    "mode": there and stat.S_IMODE(seen.st_mode),
    "group": there and seen.st_gid,
    "groups": os.getgroups(),
    "user": os.getuid(),
    "opened": tried(node, "r+b"),
    "link": os.path.islink("/dev/dri/by-path/pci-0000:03:00.0-render"),
    "made": tried("/dev/dri/by-path/new", "w"),
    "kept": open("/proc/self/status").read().split("CapEff:")[1].split()[0],
    "variables": sorted(name for name in os.environ if name.startswith(("ZE_", "ONEAPI_", "SYCL_"))),
    "shm": os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize,
}))
"""


class Well(IntelGpus):
    """GPUs that nobody asks about their health."""

    leased = True

    def health(self, unit):
        return Health()


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    directory = tmp_path_factory.mktemp("gpus")
    wheel = Wheelhouse(directory / "house").add("thing", "1.0", {"thing/__init__.py": ""})
    ladder = tuple((number, 2.0) for number, _ in LADDER)
    runtime = DockerRuntime(
        directory / "cache",
        settings("classic"),
        wheels(directory),
        payload=payload(directory / "p"),
        ladder=ladder,
    )
    locked = lock(distribution(wheel))
    step = prepared(runtime, runtime.base(BASE, quiet), locked)
    yield Bench(runtime, step, locked, directory)
    runtime.discard(step.key)
    runtime.close()


@pytest.fixture
def made(tmp_path):
    """A host with two GPUs, whose render nodes are device nodes made for the test."""
    second = Card(address="0000:04:00.0", render=129, node=False)
    made = host(tmp_path, Card(node=False), second)
    for name in ("renderD128", "renderD129"):
        node = made.dev / "dri" / name
        os.mknod(node, stat.S_IFCHR | 0o660, NULL)
        os.chown(node, 0, GROUP)
        node.chmod(0o660)
    by_path = made.dev / "dri/by-path"
    by_path.mkdir()
    for address, name in (("0000:03:00.0", "renderD128"), ("0000:04:00.0", "renderD129")):
        (by_path / f"pci-{address}-render").symlink_to(f"../{name}")
    return made


def grant(made, tmp_path, **use):
    locks = tmp_path / "locks"
    locks.mkdir()
    pool = Pool({Device.XPU: GpuUse(**use)}, host=made, directory=locks, backends={Device.XPU: Well()})
    while not isinstance(found := pool.acquire(Device.XPU), Grant):
        pass  # its health is asked on another thread
    return found


def inside(raw):
    assert raw.exit_code == 0, (raw.failure, raw.log)
    return json.loads(raw.log)


def test_a_container_gets_the_node_it_was_given_and_nothing_else(bench, made, tmp_path, monkeypatch):
    for name in ("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "SYCL_CACHE_PERSISTENT"):
        monkeypatch.setenv(name, "7")
    given = grant(made, tmp_path)
    seen = inside(bench.run(INSIDE, device=Device.XPU, grant=given))
    plain = inside(bench.run(INSIDE))
    assert set(seen["all"]) - set(plain["all"]) == {
        "/dev/dri/",
        "/dev/dri/renderD128",
        "/dev/dri/by-path/",
        "/dev/dri/by-path/pci-0000:03:00.0-render",
        "/dev/dri/by-path/pci-0000:04:00.0-render",  # which leads nowhere
    }
    assert set(plain["all"]) <= set(seen["all"])
    assert (seen["kind"], seen["numbers"], seen["mode"], seen["group"]) == (True, [1, 3], 0o660, GROUP)
    assert (seen["user"], seen["opened"]) == (12345, "opened")
    assert GROUP in seen["groups"]
    assert GROUP not in plain["groups"]
    assert seen["link"]
    assert seen["made"] == "Read-only file system"
    assert int(seen["kept"], 16) == 0
    assert seen["variables"] == []
    assert seen["shm"] == 64 * 1024**2


def test_it_is_the_group_that_opens_the_node(bench, made, tmp_path):
    given = grant(made, tmp_path)
    without = replace(given, passthrough=replace(given.passthrough, groups=()))
    assert inside(bench.run(INSIDE, device=Device.XPU, grant=without))["opened"] == "Permission denied"


def test_the_command_for_people_does_the_same(bench, made, tmp_path):
    bench.last = bench.job(INSIDE, device=Device.XPU, grant=grant(made, tmp_path))
    argv = bench.runtime.command(bench.last, bench.step)
    assert not any(word.startswith("--privileged") or "/dev/mem" in word for word in argv)
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    assert (seen["numbers"], seen["opened"], seen["link"]) == ([1, 3], "opened", True)


def test_cdi_is_not_taken_for_granted(bench, made, tmp_path):
    raw = bench.run("pass", device=Device.XPU, grant=grant(made, tmp_path, cdi=True))
    if "CDISpecDirs" in connected(lambda api: api.info()):
        assert "no CDI device in" in raw.failure or "CDI is switched off" in raw.failure
    else:
        assert "does not know CDI" in raw.failure
    assert not raw.started


def connected(ask):
    api = connect(30)
    try:
        return ask(api)
    finally:
        api.close()


def test_what_the_last_holder_of_a_gpu_left_running_is_ended_first(bench, made, tmp_path):
    inside(bench.run("print(1)"))  # what was left before this run is gone now
    labels = owner() | {"io.orchestrator.started": "1"}
    name = f"orphan-{os.getpid()}"
    orphan = connected(
        lambda api: api.create_container(reference(bench.step.key), ["sleep", "600"], name=name, labels=labels)
    )["Id"]
    try:
        first = grant(made, tmp_path)
        inside(bench.run("print(1)", device=Device.XPU, grant=first))
        there = [one["Id"] for one in connected(lambda api: api.containers(all=True))]
        assert orphan in there
        first.lease.orphaned = True
        inside(bench.run("print(1)", device=Device.XPU, grant=first))
        assert orphan not in [one["Id"] for one in connected(lambda api: api.containers(all=True))]
    finally:
        connected(lambda api: remove(api, orphan))
