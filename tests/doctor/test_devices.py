from __future__ import annotations

import os
import stat
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from gpus import NULL, nvidia
from orchestrator.devices import Health, Host, Unit
from orchestrator.doctor.devices import (
    DevicesSeen,
    Gpu,
    judge_gpus,
    judge_health,
    judge_late_health,
    judge_nvidia,
    judge_rootless_devices,
    judge_shm,
)
from orchestrator.doctor.finding import BOTH, Level
from orchestrator.doctor.inquiry import Inquiry, LateError, end
from orchestrator.doctor.rights import Rights
from orchestrator.doctor.world import devices as world_devices
from orchestrator.model import Device
from rights import opened

STACKS = {Device.XPU: ("ipex-xpu", "torch-xpu"), Device.CUDA: ("torch-cuda",)}
NODE = Rights(
    path="/dev/dri/renderD128", mode=0o660, gid=992, group="render", user="ada", allowed=True, listed=False
)
GPU = Gpu(model="8086:56a0", address="0000:03:00.0", driver="xe", node=NODE)
CLOSED = replace(GPU, node=replace(NODE, allowed=False))


def by_id(findings):
    found = list(findings)
    assert len({one.id for one in found}) == len(found)
    return {one.id: one for one in found}


def gpus(seen, *, stacks=STACKS, runtimes=BOTH):
    return by_id(judge_gpus(seen, stacks, runtimes))


def test_no_gpu():
    found = gpus(DevicesSeen())["device.xpu"]
    assert (found.level, "ipex-xpu, torch-xpu" in found.summary) == (Level.NOTE, True)
    assert gpus(DevicesSeen(), stacks={})["device.xpu"].level is Level.OK


def test_a_gpu_that_this_user_may_use():
    found = gpus(DevicesSeen(gpus=[GPU]))
    assert list(found) == ["device.xpu.renderD128"]
    assert found["device.xpu.renderD128"].level is Level.OK
    for word in ("8086:56a0", "0000:03:00.0", "driver xe", "/dev/dri/renderD128"):
        assert word in found["device.xpu.renderD128"].summary
    assert found["device.xpu.renderD128"].detail == "group render, 992"


def test_a_gpu_without_rights():
    found = gpus(DevicesSeen(gpus=[CLOSED]))["device.rights.renderD128"]
    assert (found.level, "sudo usermod -aG render ada" in found.hint) == (Level.PROBLEM, True)
    assert "group render, 992" in found.summary


def test_rights_do_not_matter_to_containers_unless_rootless():
    assert "device.rights.renderD128" not in gpus(DevicesSeen(gpus=[CLOSED]), runtimes=["docker"])
    (found,) = judge_rootless_devices(DevicesSeen(gpus=[GPU, CLOSED]))
    assert (found.level, "usermod" in found.hint) == (Level.PROBLEM, True)


def test_graphics_without_a_driver_and_no_by_path():
    found = gpus(DevicesSeen(gpus=[GPU], driverless=["0000:4d:00.0"], by_path=False))
    assert "modprobe" in found["device.xpu.0000:4d:00.0"].hint
    assert found["device.by-path"].level is Level.NOTE


@pytest.mark.parametrize(
    ("health", "level"),
    [(Health(checked=False), Level.NOTE), (Health(), Level.OK), (Health(firmware="gfx DG02_1.3267"), Level.OK)],
)
def test_health(health, level):
    (found,) = judge_health({"0000:03:00.0": health})
    assert (found.id, found.level) == ("device.health", level)


def test_an_ill_gpu_and_a_tool_that_hangs():
    ill = Health(reason="xpu-smi: its state is survivability mode, not normal")
    found = by_id(judge_health({"a": Health(), "b": ill}))
    assert list(found) == ["device.health.b"]
    assert found["device.health.b"].level is Level.PROBLEM
    assert ill.reason in found["device.health.b"].summary
    assert (judge_late_health().level, "hangs" in judge_late_health().summary) == (Level.PROBLEM, True)


def test_nvidia():
    def judged(toolkit, stacks=STACKS, *, nvidia=True):
        return [one.level for one in judge_nvidia(DevicesSeen(nvidia=nvidia), stacks, toolkit=toolkit)]

    assert judged(toolkit=True) == judged(toolkit=None) == [Level.OK]
    assert judged(toolkit=False) == [Level.PROBLEM]
    assert judged(toolkit=False, stacks={}) == [Level.NOTE]
    assert judged(toolkit=None, nvidia=False) == [Level.NOTE]
    assert judged(toolkit=None, nvidia=False, stacks={}) == []


@pytest.mark.parametrize(("free", "level"), [(None, Level.PROBLEM), (64 << 20, Level.NOTE), (1 << 30, Level.OK)])
def test_shared_memory(free, level):
    (found,) = judge_shm(free, 1 << 30)
    assert found.level is level


# What asks: trees of other hosts.


@pytest.fixture
def host(tmp_path):
    return Host(sys=tmp_path / "sys", dev=tmp_path / "dev", proc=tmp_path / "proc")


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def card(host, number, *, address="0000:03:00.0", node=True, driver="xe", functions=0, vendor="0x8086"):
    device = host.sys / "devices" / address
    write(device / "vendor", f"{vendor}\n")
    write(device / "device", "0x56a0\n")
    write(device / "class", "0x030000\n")
    write(device / "sriov_numvfs", f"{functions}\n")
    if driver:
        write(device / "uevent", f"DRIVER={driver}\nPCI_CLASS=30000\n")
        (device / "driver").mkdir()
        (device / "drm" / f"renderD{128 + number}").mkdir(parents=True)
        name = host.sys / "class/drm" / f"card{number}"
        name.mkdir(parents=True)
        (name / "device").symlink_to(device)
        if node:
            (host.dev / "dri").mkdir(parents=True, exist_ok=True)
            (host.dev / "dri" / f"renderD{128 + number}").symlink_to(NULL)
    bus = host.sys / "bus/pci/devices"
    bus.mkdir(parents=True, exist_ok=True)
    (bus / address).symlink_to(device)


def test_a_host_without_any_devices(host):
    assert world_devices.look_at_devices(host) == DevicesSeen(by_path=False)


def test_gpus_of_a_host(host):
    card(host, 0)
    card(host, 1, address="0000:4d:00.0", driver="i915")
    card(host, 2, address="0000:5e:00.0", functions=4)
    card(host, 3, address="0000:6f:00.0", node=False)
    card(host, 4, address="0000:70:00.0", vendor="0x10de", driver="nvidia")
    card(host, 5, address="0000:71:00.0", driver=None)
    write(host.sys / "module/i915/version", "1.6.0\n")
    nvidia(host, "GPU-1")
    (host.dev / "dri/by-path").mkdir(parents=True)
    seen = world_devices.look_at_devices(host)
    assert [(gpu.model, gpu.address, gpu.driver) for gpu in seen.gpus] == [
        ("8086:56a0 Arc A770", "0000:03:00.0", "xe"),
        ("8086:56a0 Arc A770", "0000:4d:00.0", "i915 1.6.0"),
    ]
    node = host.dev / "dri/renderD128"
    assert (seen.gpus[0].node.path, seen.gpus[0].node.gid) == (str(node), node.stat().st_gid)
    assert seen.driverless == ("0000:71:00.0",)
    assert (seen.by_path, seen.nvidia) == (True, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a device node")
def test_a_node_that_this_user_may_not_open(host):
    card(host, 0, node=False)
    (host.dev / "dri").mkdir(parents=True)
    os.mknod(host.dev / "dri/renderD128", stat.S_IFCHR, os.makedev(1, 3))
    opened(host.dev)
    os.seteuid(65534)
    try:
        (gpu,) = world_devices.look_at_devices(host).gpus
    finally:
        os.seteuid(0)
    assert (gpu.node.allowed, gpu.node.mode) == (False, 0)


def tool(monkeypatch, tmp_path, script):
    path = tmp_path / "xpu-smi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


UNITS = [Unit(id="0000:03:00.0", index=0, name="8086:56a0"), Unit(id="0000:4d:00.0", index=1, name="8086:56a0")]


def test_every_gpu_is_asked_about(monkeypatch, tmp_path):
    tool(monkeypatch, tmp_path, """[ "$3" = 0000:03:00.0 ] && echo '{"device_state": "wedged"}' || echo '{}'""")
    found = world_devices.health_of(UNITS, Event())
    assert {address: one.reason is None for address, one in found.items()} == {
        "0000:03:00.0": False,
        "0000:4d:00.0": True,
    }


def test_xpu_smi_that_hangs(monkeypatch, tmp_path):
    tool(monkeypatch, tmp_path, "sleep 60")
    monkeypatch.setattr(world_devices, "_TOOL_TIMEOUT", 0.5)
    found = world_devices.health_of(UNITS[:1], Event())
    assert "does not answer within 0.5 s" in found["0000:03:00.0"].reason


def test_xpu_smi_is_ended_when_nobody_waits_any_more(monkeypatch, tmp_path):
    tool(monkeypatch, tmp_path, f"echo $$ >> {tmp_path}/pid\nexec sleep 60")
    inquiry = Inquiry(partial(world_devices.health_of, UNITS), patience=2)
    with pytest.raises(LateError):
        inquiry.answer()
    end([inquiry], grace=5)
    (pid,) = (tmp_path / "pid").read_text().split()
    assert not Path("/proc", pid).exists()


def test_xpu_smi_is_not_called_without_a_gpu(monkeypatch):
    monkeypatch.setattr(world_devices, "discover", pytest.fail)
    assert world_devices.health_of([], Event()) == {}
