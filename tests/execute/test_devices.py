from pathlib import Path

import pytest

from orchestrator.execute.devices import Host, Passthrough, missing, passthrough
from orchestrator.model import Device


@pytest.fixture
def host(tmp_path):
    (tmp_path / "sys/class/drm").mkdir(parents=True)
    (tmp_path / "dev/dri").mkdir(parents=True)
    return Host(sys=tmp_path / "sys", dev=tmp_path / "dev")


def card(host, name, *, vendor="0x8086", render=None, functions=None, node=True):
    device = host.sys / "class/drm" / name / "device"
    device.mkdir(parents=True)
    (device / "vendor").write_text(vendor + "\n")
    if functions is not None:
        (device / "sriov_numvfs").write_text(f"{functions}\n")
    for node_name in (name, *([render] if render else [])):
        (device / "drm" / node_name).mkdir(parents=True)
    if render and node:
        (host.dev / "dri" / render).touch()


def test_nothing_is_needed_to_compute_on_the_cpu(host):
    for device in (Device.CPU, Device.XLA):
        assert missing(device, host) is None
        assert passthrough(device, host) == Passthrough()


def test_no_gpu(host):
    reason = missing(Device.XPU, host)
    assert "0x8086" in reason
    assert "render node" in reason
    assert "NVIDIA" in missing(Device.CUDA, host)


def test_host_without_any_graphics(tmp_path):
    assert missing(Device.XPU, Host(sys=tmp_path / "a", dev=tmp_path / "b")) is not None


def test_intel_gpu(host):
    card(host, "card0", vendor="0x10de", render="renderD128")
    card(host, "card1", render="renderD129")
    card(host, "card1-HDMI-A-1", render="renderD140")
    card(host, "controlD64", render="renderD141")
    assert missing(Device.XPU, host) is None
    node = host.dev / "dri/renderD129"
    assert passthrough(Device.XPU, host) == Passthrough(nodes=(str(node),), groups=(node.stat().st_gid,))


@pytest.mark.parametrize(
    "changes", [{}, {"render": "renderD128", "node": False}, {"render": "renderD128", "functions": 4}]
)
def test_card_that_cannot_be_used(host, changes):
    card(host, "card0", **changes)
    assert missing(Device.XPU, host) is not None


def test_card_without_guests(host):
    card(host, "card0", render="renderD128", functions=0)
    assert missing(Device.XPU, host) is None


def test_two_cards_one_group(host):
    card(host, "card0", render="renderD128")
    card(host, "card1", render="renderD129")
    (host.dev / "dri/by-path").mkdir()
    given = passthrough(Device.XPU, host)
    assert [Path(node).name for node in given.nodes] == ["renderD128", "renderD129"]
    assert len(given.groups) == 1
    assert given.directories == (str(host.dev / "dri/by-path"),)
    assert not given.gpus


def test_nvidia(host):
    (host.dev / "nvidiactl").touch()
    assert missing(Device.CUDA, host) is None
    assert passthrough(Device.CUDA, host) == Passthrough(gpus=True)
