import os
import re
import tempfile
from pathlib import Path

import pytest

from gpus import NULL, Card, host, nvidia, several, write
from orchestrator.devices import BACKENDS, Host, Part, Passthrough, Pool, refused
from orchestrator.model import Device

XPU, CUDA = BACKENDS[Device.XPU], BACKENDS[Device.CUDA]
UUIDS = ("GPU-12345678-1234-1234-1234-123456789abc", "GPU-87654321-1234-1234-1234-123456789abc")


def part(made, number=0, tile=None, backend=XPU):
    return Part(unit=backend.units(made)[number], tile=tile)


@pytest.mark.parametrize("device", [Device.CPU, Device.XLA])
def test_a_processor_is_always_there_and_needs_nothing(tmp_path, device):
    made = host(tmp_path)
    write(made.proc / "cpuinfo", "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R) \n\nmodel name\t: other")
    grant = Pool(host=made).acquire(device)
    assert Pool(host=made).missing(device) is None
    assert (grant.passthrough, grant.confinement, grant.lease) == (Passthrough(), {}, None)
    assert (grant.fingerprint.device, grant.fingerprint.driver) == ("Intel(R) Xeon(R)", None)
    assert grant.fingerprint.system.startswith("Linux ")


def test_one_gpu(tmp_path):
    made = host(tmp_path, Card())
    (unit,) = XPU.units(made)
    assert (unit.id, unit.index, unit.tiles, unit.integrated) == ("0000:03:00.0", 0, 1, False)
    assert (unit.name, unit.driver, unit.node) == ("8086:e20b Arc B580", "xe", made.dev / "dri/renderD128")


def test_several_are_ordered_by_address_and_not_by_the_number_of_their_card(tmp_path):
    late = Card(address="0000:83:00.0", render=128, device="0x56a0", driver="i915")
    made = host(tmp_path, late, Card(address="0000:03:00.0", render=129))
    write(made.sys / "module/i915/version", "1.6.0")
    assert [(unit.index, unit.id, unit.node.name, unit.driver) for unit in XPU.units(made)] == [
        (0, "0000:03:00.0", "renderD129", "xe"),
        (1, "0000:83:00.0", "renderD128", "i915 1.6.0"),
    ]


def test_an_unknown_model_keeps_its_id(tmp_path):
    (unit,) = XPU.units(host(tmp_path, Card(device="0xffff")))
    assert unit.name == "8086:ffff"


def test_the_driver_of_a_kernel_that_names_it_by_a_link_only(tmp_path):
    made = host(tmp_path, Card())
    device = made.sys / "class/drm/card0/device"
    (device / "uevent").unlink()
    (made.sys / "bus/pci/drivers/i915").mkdir(parents=True)
    (device / "driver").symlink_to(made.sys / "bus/pci/drivers/i915")
    assert XPU.units(made)[0].driver == "i915"


def test_tiles_of_either_driver(tmp_path):
    made = host(
        tmp_path,
        Card(address="0000:03:00.0", driver="i915", gt=2),
        Card(address="0000:04:00.0", driver="xe", render=129, tiles=2),
        Card(address="0000:05:00.0", driver="xe", render=130, tiles=1),
    )
    assert [unit.tiles for unit in XPU.units(made)] == [2, 2, 1]


def test_what_decodes_video_in_a_processor_is_no_tile(tmp_path):
    (unit,) = XPU.units(host(tmp_path, Card(address="0000:00:02.0", driver="i915", gt=2)))
    assert (unit.tiles, unit.integrated) == (1, True)


def test_a_card_with_virtual_functions_is_left_to_its_guests(tmp_path):
    parent = Card(address="0000:03:00.0", functions=2)
    functions = [Card(address=f"0000:03:00.{n}", render=128 + n) for n in (1, 2)]
    assert [unit.id for unit in XPU.units(host(tmp_path / "a", parent, *functions))] == [
        "0000:03:00.1",
        "0000:03:00.2",
    ]
    alone = host(tmp_path / "b", parent)
    assert Pool(host=alone).missing(Device.XPU) == (
        f"no Intel GPU: card0 of {alone.sys}/class/drm has its virtual functions given to guests"
    )
    assert XPU.units(host(tmp_path / "c", Card(functions=0)))


@pytest.mark.parametrize("lacking", [Card(render=None), Card(node=False)])
def test_a_card_without_render_node(tmp_path, lacking):
    made = host(tmp_path, lacking)
    assert XPU.units(made) == ()
    assert "card0" in Pool(host=made).missing(Device.XPU)
    assert f"no render node below {made.dev}/dri" in Pool(host=made).missing(Device.XPU)


def test_a_file_is_no_render_node(tmp_path):
    made = host(tmp_path, Card(node=False))
    (made.dev / "dri/renderD128").touch()
    assert XPU.units(made) == ()


def test_a_foreign_vendor(tmp_path):
    made = host(tmp_path, Card(vendor="0x10de", driver="nouveau"))
    assert "no card with vendor 0x8086" in Pool(host=made).missing(Device.XPU)


def test_what_is_listed_beside_cards(tmp_path):
    made = host(tmp_path, Card())
    for name in ("card0-HDMI-A-1", "controlD64", "renderD128", "version"):
        (made.sys / "class/drm" / name).symlink_to(made.sys / "class/drm/card0")
    assert [unit.id for unit in XPU.units(made)] == ["0000:03:00.0"]


def test_a_host_without_any_graphics(tmp_path):
    empty = Host(sys=tmp_path / "sys", dev=tmp_path / "dev", proc=tmp_path / "proc")
    assert "no Intel GPU" in Pool(host=empty).missing(Device.XPU)
    assert "no NVIDIA GPU" in Pool(host=empty).missing(Device.CUDA)


def test_passthrough_of_one_of_two_gpus(tmp_path):
    made = several(tmp_path, 2)
    (made.dev / "dri/by-path").mkdir()
    given = XPU.passthrough(made, part(made, 1))
    assert given.nodes == ((str(made.dev / "dri/renderD129"), "/dev/dri/renderD129"),)
    assert given.groups == (Path(NULL).stat().st_gid,)
    assert given.directories == ((str(made.dev / "dri/by-path"), "/dev/dri/by-path"),)
    assert (given.gpus, given.environment) == ((), {})


def test_a_tile_is_meant_in_every_generation_of_drivers(tmp_path):
    made = host(tmp_path, Card(tiles=2))
    expected = {"ZE_AFFINITY_MASK": "0.1", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"}
    assert XPU.passthrough(made, part(made, tile=1)).environment == expected
    assert XPU.confinement(made, part(made, tile=1)).items() >= expected.items()


def test_a_process_of_this_host_is_kept_to_its_gpu(tmp_path):
    alone = host(tmp_path / "one", Card())
    assert XPU.confinement(alone, part(alone)) == {}
    two = several(tmp_path / "two", 2, tiles=2)
    assert XPU.confinement(two, part(two, 1)) == {
        "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1",
        "ZE_AFFINITY_MASK": "2,3",
    }


def test_a_node_without_rights(tmp_path, monkeypatch):
    made = host(tmp_path, Card())
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    reason = refused(made.dev / "dri/renderD128")
    assert re.fullmatch(
        r"no rights to \S+/renderD128: it belongs to group \w+ \(0\), which this user is not in", reason
    )
    assert Pool(host=made, direct=True).missing(Device.XPU) == reason
    assert Pool(host=made).missing(Device.XPU) is None  # a container gets the group from the engine


@pytest.fixture
def somebody():
    """Be another user to whoever asks about rights; which group that user is in is said by calling it."""
    if os.getuid() != 0:
        pytest.skip("only root becomes another user")
    groups = os.getgroups()
    os.setgroups([])
    os.setresuid(12345, -1, -1)
    yield lambda group: os.setresgid(group, -1, -1)
    os.setresuid(0, -1, -1)
    os.setresgid(0, -1, -1)
    os.setgroups(groups)


def test_a_node_belongs_to_its_group(somebody):
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        node = Path(directory, "renderD128")
        node.touch()
        os.chown(node, 0, 54321)
        node.chmod(0o660)
        somebody(54321)
        assert refused(node) is None
        somebody(54322)
        assert "it belongs to group 54321, which this user is not in" in refused(node)


def test_nvidia(tmp_path):
    made = host(tmp_path)
    nvidia(made, UUIDS[0], "GPU-????????-????-????-????-????????????")
    assert [unit.id for unit in CUDA.units(made)] == ["0000:01:00.0", "0000:02:00.0"]
    # Before anything used it, its number is all that is known.
    assert [CUDA.passthrough(made, part(made, n, backend=CUDA)).gpus for n in (0, 1)] == [(UUIDS[0],), ("1",)]
    assert CUDA.confinement(made, part(made, 0, backend=CUDA)) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": UUIDS[0],
    }
    found = CUDA.fingerprint(made, CUDA.units(made))
    assert (found.device, found.driver) == ("NVIDIA A10, NVIDIA A10", "nvidia 550.54.14")


def test_an_nvidia_driver_that_lost_its_gpu(tmp_path):
    made = host(tmp_path)
    nvidia(made)
    assert "lists none" in Pool(host=made).missing(Device.CUDA)


def test_the_fingerprint_of_gpus(tmp_path):
    cards = Card(device="0x56a0", driver="i915"), Card(address="0000:04:00.0", render=129)
    made = host(tmp_path, *cards)
    write(made.sys / "module/i915/version", "1.6.0")
    found = XPU.fingerprint(made, XPU.units(made))
    assert (found.device, found.driver) == ("8086:56a0 Arc A770, 8086:e20b Arc B580", "i915 1.6.0, xe")
    assert (found.firmware, found.runtime) == (None, {})
