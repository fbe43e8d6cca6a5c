import json
import os
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from gpus import Card, add, boot, host, nvidia, several
from orchestrator.devices import Busy, Grant, Health, Pool, Quarantine, Unusable
from orchestrator.devices.gate import Gate
from orchestrator.devices.xpu import IntelGpus
from orchestrator.model import Device, GpuUse


class Doctor(IntelGpus):
    """Intel GPUs whose health is what a test says, once `open` is set."""

    def __init__(self, **ill):
        self.ill = {address.replace("_", ":"): reason for address, reason in ill.items()}
        self.open = threading.Event()
        self.open.set()
        self.asked = Counter()

    def health(self, unit):
        self.open.wait(30)
        self.asked[unit.id] += 1
        return Health(reason=self.ill.get(unit.id), firmware=f"gfx {unit.index}")


def pool(made, tmp_path, doctor=None, **use):
    locks = tmp_path / "locks"
    locks.mkdir(exist_ok=True)
    return Pool({Device.XPU: GpuUse(**use)}, host=made, directory=locks, backends={Device.XPU: doctor or Doctor()})


def acquire(pool, device=Device.XPU):
    """Lease what can be had once the health of all is known."""
    for _ in range(1000):
        found = pool.acquire(device)
        if not isinstance(found, Busy):
            return found
        if not pool._gates[device]._asked:
            return pool.acquire(device)
        time.sleep(0.005)
    raise AssertionError("the health of a GPU was never told")


def on(grant):
    return grant.part.title


def test_cells_are_spread_and_the_next_one_waits(tmp_path):
    one = pool(several(tmp_path, 2), tmp_path)
    grants = [acquire(one), acquire(one)]
    assert {on(grant) for grant in grants} == {"0000:03:00.0", "0000:04:00.0"}
    assert one.acquire(Device.XPU) == Busy(elsewhere=False)
    grants[1].release()
    again = acquire(one)
    assert on(again) == on(grants[1])


def test_the_least_used_comes_first(tmp_path):
    one = pool(several(tmp_path, 3), tmp_path)
    seen = []
    for _ in range(6):
        grant = acquire(one)
        seen.append(on(grant))
        grant.release()
    assert set(Counter(seen).values()) == {2}


def test_two_runs_share_a_host(tmp_path):
    made = several(tmp_path, 1)
    one, other = pool(made, tmp_path), pool(made, tmp_path)
    grant = acquire(one)
    assert acquire(other) == Busy(elsewhere=True)
    grant.release()
    assert isinstance(acquire(other), Grant)


def test_sharing_is_asked_for(tmp_path):
    one = pool(several(tmp_path, 2), tmp_path, shared=2)
    seen = [on(acquire(one)) for _ in range(4)]
    assert sorted(seen[:2]) == sorted(seen[2:]) == ["0000:03:00.0", "0000:04:00.0"]
    assert isinstance(one.acquire(Device.XPU), Busy)


def test_tiles_are_given_out_one_by_one_only_where_asked_for(tmp_path):
    made = several(tmp_path, 1, tiles=2)
    tiles = pool(made, tmp_path, tiles=True)
    grants = [acquire(tiles), acquire(tiles)]
    assert [grant.passthrough.environment["ZE_AFFINITY_MASK"] for grant in grants] == ["0.0", "0.1"]
    assert grants[0].fingerprint.device == "8086:e20b Arc B580, one tile"
    assert isinstance(tiles.acquire(Device.XPU), Busy)
    whole = pool(made, tmp_path)
    assert isinstance(acquire(whole), Busy)
    for grant in grants:
        grant.release()
    tiles.wait_no_more()
    assert on(acquire(whole)) == "0000:03:00.0"
    assert isinstance(tiles.acquire(Device.XPU), Busy)


@pytest.mark.parametrize(("use", "there"), [((1,), "0000:04:00.0"), (("0000:05:00.0",), "0000:05:00.0")])
def test_gpus_can_be_left_out(tmp_path, use, there):
    one = pool(several(tmp_path, 3), tmp_path, use=use)
    assert on(acquire(one)) == there
    assert isinstance(one.acquire(Device.XPU), Busy)


def test_gpus_that_are_named_and_not_here(tmp_path):
    one = pool(several(tmp_path, 1), tmp_path, use=("0000:99:00.0",))
    reason = one.missing(Device.XPU)
    assert reason == "none of the GPUs in `devices: xpu: use` is here; there are 0 (0000:03:00.0)"
    assert one.acquire(Device.XPU) == Unusable(reason=reason)


def test_a_processor_s_own_gpu_is_used_only_where_it_is_alone_or_named(tmp_path):
    inside = Card(address="0000:00:02.0", device="0x7d55")
    both = host(tmp_path / "both", inside, Card(render=129))
    one = pool(both, tmp_path)
    assert on(acquire(one)) == "0000:03:00.0"
    assert isinstance(one.acquire(Device.XPU), Busy)
    assert on(acquire(pool(both, tmp_path, use=(0,)))) == "0000:00:02.0"
    (tmp_path / "alone").mkdir()
    assert on(acquire(pool(host(tmp_path / "alone", inside), tmp_path / "alone"))) == "0000:00:02.0"


def test_gpus_that_differ_are_told(tmp_path):
    made = host(tmp_path, Card(), Card(address="0000:04:00.0", render=129, device="0x56a0"))
    one = pool(made, tmp_path)
    acquire(one)
    assert any("differ (0 8086:e20b Arc B580, 1 8086:56a0 Arc A770)" in notice for notice in one.notices)


def test_an_ill_gpu_is_not_used_and_that_is_told(tmp_path):
    doctor = Doctor(**{"0000_03_00.0": "its state is survivability, not normal"})
    one = pool(several(tmp_path, 2), tmp_path, doctor)
    assert on(acquire(one)) == "0000:04:00.0"
    assert acquire(one) == Busy(elsewhere=False)
    assert one.notices == ("GPU 0000:03:00.0 is not used: its state is survivability, not normal",)


def test_a_process_is_given_only_what_its_user_may_open(tmp_path, monkeypatch):
    made = several(tmp_path, 2)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "renderD128")
    (tmp_path / "locks").mkdir()
    one = Pool(host=made, direct=True, directory=tmp_path / "locks", backends={Device.XPU: Doctor()})
    assert one.missing(Device.XPU) is None
    assert on(acquire(one)) == "0000:04:00.0"
    assert acquire(one) == Busy(elsewhere=False)
    assert "no rights to" in one.notices[0]


def test_a_host_whose_gpus_are_all_ill(tmp_path):
    one = pool(several(tmp_path, 1), tmp_path, Doctor(**{"0000_03_00.0": "wedged"}))
    assert acquire(one) == Unusable(reason="no GPU can be used: 0000:03:00.0: wedged")


def test_a_tool_that_hangs_keeps_nobody_waiting(tmp_path):
    doctor = Doctor()
    doctor.open.clear()
    one = pool(several(tmp_path, 1), tmp_path, doctor)
    assert one.acquire(Device.XPU) == Busy(elsewhere=False)  # at once
    assert isinstance(one.acquire(Device.CPU), Grant)
    doctor.open.set()
    assert acquire(one).fingerprint.firmware == "gfx 0"


def test_health_is_asked_once_in_a_while(tmp_path):
    (unit,) = IntelGpus().units(several(tmp_path, 1))
    now, asked, answers = [0.0], [], threading.Semaphore(0)

    def check(unit):
        asked.append(now[0])
        answers.release()
        return Health(firmware=str(len(asked)))

    gate = Gate(check, clock=lambda: now[0], valid=10.0)
    assert gate.health(unit) is None
    answers.acquire(timeout=10)
    for moment in (1.0, 9.0):
        now[0] = moment
        while gate.known(unit) is None:
            time.sleep(0.001)
        assert gate.health(unit).firmware == "1"
    now[0] = 30.0
    assert gate.health(unit).firmware == "1"  # and is asked again meanwhile
    answers.acquire(timeout=10)
    assert asked == [0.0, 30.0]


def test_a_wedged_gpu_goes_into_quarantine_until_the_next_boot(tmp_path):
    made = several(tmp_path, 2)
    one = pool(made, tmp_path)
    grant = acquire(one)
    one.isolate(grant, "the container does not end")
    grant.release()
    others = Doctor()
    second = pool(made, tmp_path, others)
    for run in (one, second):
        found = acquire(run)
        assert on(found) == "0000:04:00.0"
        assert acquire(run) == Busy(elsewhere=False)
        found.release()
        run.wait_no_more()
    assert "put into quarantine until this host is booted again: the container does not end" in one.notices[0]
    assert "0000:03:00.0 is not used: in quarantine since" in second.notices[0]
    assert "0000:03:00.0" not in others.asked
    assert json.loads((tmp_path / "locks/0000:03:00.0.quarantine").read_text())["boot"] == "boot-1"
    boot(made, "boot-2")
    assert on(acquire(pool(made, tmp_path))) == "0000:03:00.0"


def test_a_quarantine_that_is_forgotten(tmp_path):
    made = several(tmp_path, 1)
    one = pool(made, tmp_path)
    grant = acquire(one)
    one.isolate(grant, "wedged")
    grant.release()
    assert "in quarantine since" in acquire(one).reason
    Quarantine(tmp_path / "locks", made.boot).forget()
    assert isinstance(acquire(one), Grant)


def test_a_quarantine_that_cannot_be_written_holds_in_this_run(tmp_path):
    one = pool(several(tmp_path, 1), tmp_path)
    grant = acquire(one)
    record = tmp_path / "locks/0000:03:00.0.quarantine"
    record.mkdir()
    (record / "in the way").touch()
    one._opened.quarantine.reason = lambda unit: None  # as where the record is of an earlier boot
    one.isolate(grant, "wedged")
    grant.release()
    assert acquire(one) == Unusable(reason="no GPU can be used: 0000:03:00.0: wedged")
    assert "other runs are not told" in one.notices[0]


def test_a_gpu_that_goes_away(tmp_path):
    made = several(tmp_path, 1)
    one = pool(made, tmp_path)
    acquire(one).release()
    (made.dev / "dri/renderD128").unlink()
    assert "has no render node" in one.acquire(Device.XPU).reason
    add(made, 1, Card(address="0000:09:00.0", render=129))
    assert on(acquire(one)) == "0000:09:00.0"


def test_a_preview_leases_nothing(tmp_path):
    made = several(tmp_path, 1)
    one = pool(made, tmp_path)
    shown = one.preview(Device.XPU)
    assert (on(shown), shown.lease) == ("0000:03:00.0", None)
    assert shown.passthrough.nodes[0][1] == "/dev/dri/renderD128"
    assert isinstance(acquire(one), Grant)
    assert pool(host(tmp_path / "none"), tmp_path).preview(Device.XPU) is None


def test_nvidia_gpus_are_leased_by_uuid(tmp_path):
    made = host(tmp_path)
    uuids = [f"GPU-12345678-1234-1234-1234-12345678900{n}" for n in range(2)]
    nvidia(made, *uuids)
    one = pool(made, tmp_path)
    assert [acquire(one, Device.CUDA).passthrough.gpus for _ in range(2)] == [(uuids[0],), (uuids[1],)]
    assert isinstance(one.acquire(Device.CUDA), Busy)


def test_cdi_is_asked_for_by_the_node_of_the_gpu(tmp_path):
    made = several(tmp_path, 1)
    assert acquire(pool(made, tmp_path, cdi=True)).passthrough.by_cdi == (str(made.dev / "dri/renderD128"),)
