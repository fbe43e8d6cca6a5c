import itertools
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.devices.leases import Leases, shared_directory
from orchestrator.errors import EnvironmentUnusableError

GPU = "0000:03:00.0"


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def runs(directory, count, clock=None):
    """As many runs on one host."""
    return [Leases(directory, clock=clock or Clock()) for _ in range(count)]


def test_a_gpu_is_leased_once(tmp_path):
    one, other = runs(tmp_path, 2)
    lease = one.take(GPU)
    assert other.take(GPU) is None
    assert one.take(GPU) is None
    assert other.take("0000:04:00.0") is not None
    assert lease.release()
    assert not lease.release()


def test_who_waits_comes_next(tmp_path):
    clock = Clock()
    one, other = runs(tmp_path, 2, clock)
    lease = one.take(GPU)
    assert other.take(GPU) is None  # and stands in line
    lease.release()
    assert one.take(GPU) is None
    assert other.take(GPU) is not None


def test_whoever_just_had_it_does_not_keep_the_first_place(tmp_path):
    clock = Clock()
    one, other = runs(tmp_path, 2, clock)
    first = one.take(GPU)
    assert one.take(GPU) is None  # stands in line behind itself
    one.leave_recent()
    assert other.take(GPU) is None  # and so is first now
    clock.now += 60
    assert one.take(GPU) is None
    first.release()
    assert one.take(GPU) is None
    assert other.take(GPU) is not None


def test_whoever_gives_up_keeps_nobody(tmp_path):
    one, other = runs(tmp_path, 2)
    lease = one.take(GPU)
    assert other.take(GPU) is None
    other.leave_all()
    lease.release()
    assert one.take(GPU) is not None


def test_shares_exclude_the_whole_and_themselves(tmp_path):
    one, other, third = runs(tmp_path, 3)
    shares = [one.take(GPU, "all-0"), other.take(GPU, "all-1")]
    assert None not in shares
    assert third.take(GPU, "all-0") is None
    assert third.take(GPU) is None
    for share in shares:
        share.release()
    whole = third.take(GPU)
    assert whole is not None
    assert one.take(GPU, "all-0") is None


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, "a", "b"]), st.booleans()), max_size=40))
def test_no_history_leases_a_share_twice_or_a_whole_beside_anything(tmp_path_factory, history):
    """Runs take and give back in any order; the oracle is the definition of a share."""
    everyone = runs(tmp_path_factory.mktemp("locks"), 3)
    held = []
    for run, share, give_back in history:
        if give_back and held:
            held.pop(0)[1].release()
            continue
        lease = everyone[run].take(GPU, share)
        free = all(share is not None and taken is not None and share != taken for taken, _ in held)
        assert lease is None or free
        if lease is not None:
            held.append((share, lease))
    for run in everyone:
        run.leave_all()
    for _, lease in held:
        lease.release()
    assert runs(everyone[0]._directory, 1)[0].take(GPU) is not None  # nothing stays taken


HOLD = """
import sys, time
from pathlib import Path
from orchestrator.devices.leases import Leases
lease = Leases(Path(sys.argv[1])).take(sys.argv[2], sys.argv[3] or None)
print("held" if lease else "taken", flush=True)
time.sleep(600)
"""


def holder(directory, share=""):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory), GPU, share], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("share", ["", "all-1"])
def test_a_run_that_is_killed_holds_nothing_and_the_next_one_is_told(tmp_path, share):
    mine = Leases(tmp_path)
    process = holder(tmp_path, share)
    assert mine.take(GPU) is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    lease = mine.take(GPU)
    assert lease.orphaned
    lease.release()
    again = mine.take(GPU)
    assert not again.orphaned


def test_the_program_that_takes_the_place_of_a_run_has_its_lease(tmp_path):
    script = """
import os, sys
from pathlib import Path
from orchestrator.devices.leases import Leases
Leases(Path(sys.argv[1])).take(sys.argv[2]).hand_down()
os.execvp("sh", ["sh", "-c", "echo there; read line"])
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), GPU],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "there\n"
    mine = Leases(tmp_path)
    assert mine.take(GPU) is None
    process.communicate("go\n")
    assert mine.take(GPU) is not None


def test_what_a_killed_run_leaves_computing_keeps_its_lease(tmp_path):
    script = """
import subprocess, sys, time
from pathlib import Path
from orchestrator.devices.leases import Leases
lease = Leases(Path(sys.argv[1])).take(sys.argv[2])
probe = subprocess.Popen(["sh", "-c", "echo there; read line"], stdin=0, pass_fds=lease.descriptors)
time.sleep(600)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), GPU],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "there\n"
    mine = Leases(tmp_path)
    process.kill()
    process.wait()
    assert mine.take(GPU) is None
    process.communicate("go\n")  # its output ends with the probe
    assert mine.take(GPU).orphaned


def compete(directory, log, cells, number):
    """Be one run of several: lease, compute, give back; write down when, by the clock of the host."""
    leases = Leases(directory)
    done = 0
    while done < cells:
        found = ((unit, leases.take(unit)) for unit in ("gpu0", "gpu1"))
        unit, lease = next((one for one in found if one[1] is not None), ("", None))
        if lease is None:
            leases.leave_recent()
            time.sleep(0.01)
            continue
        leases.leave_all()
        begin = time.monotonic_ns()
        time.sleep(0.02)
        with log.open("a") as file:
            file.write(f"{unit} {begin} {time.monotonic_ns()} {number}\n")
        if number == 0 and done == cells // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        lease.release()
        done += 1


def test_processes_never_overlap_and_none_starves_though_one_is_killed(tmp_path):
    """Five runs of ten cells each on two GPUs; one run is killed in the middle of a cell."""
    log = tmp_path / "log"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=compete, args=(tmp_path, log, 10, number)) for number in range(5)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [-signal.SIGKILL, 0, 0, 0, 0]
    entries = [line.split() for line in log.read_text().splitlines()]
    assert len(entries) == 6 + 40
    for unit in ("gpu0", "gpu1"):
        spans = sorted((int(begin), int(end)) for name, begin, end, _ in entries if name == unit)
        assert spans
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))


def test_the_place_for_all_users_of_a_host(tmp_path):
    private, everybody = tmp_path / "private", tmp_path / "everybody"
    for directory, mode in ((private, 0o755), (everybody, 0o1777)):
        directory.mkdir()
        directory.chmod(mode)
    umask = os.umask(0o077)
    try:
        place = shared_directory((private, everybody))
        Leases(place).take(GPU)
    finally:
        os.umask(umask)
    assert place.parent == everybody
    assert stat.S_IMODE(place.stat().st_mode) == 0o1777
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {0o666}
    assert shared_directory((private, everybody)) == place


def test_no_place_for_all_users(tmp_path):
    tmp_path.chmod(0o755)
    with pytest.raises(EnvironmentUnusableError, match="can be written by everybody"):
        shared_directory((tmp_path, tmp_path / "none"))
    tmp_path.chmod(0o1777)
    (tmp_path / "matrix-orchestrator").symlink_to("/etc")
    with pytest.raises(EnvironmentUnusableError, match="is not a directory that everybody may write to"):
        shared_directory((tmp_path,))


def test_a_lock_file_that_leads_elsewhere_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("content")
    (tmp_path / f"{GPU}.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EnvironmentUnusableError, match="cannot be leased"):
        Leases(tmp_path).take(GPU)
    assert (tmp_path / "elsewhere").read_text() == "content"


def test_leases_given_back_by_many_threads_at_once_are_given_back_once(tmp_path):
    lease = Leases(tmp_path).take(GPU)
    told = []
    threads = [threading.Thread(target=lambda: told.append(lease.release())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [False] * 7 + [True]
