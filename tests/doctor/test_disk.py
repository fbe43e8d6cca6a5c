from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.doctor.disk import LEAST, LEAST_FILES, Volume, judge_engine_disk, judge_store, size
from orchestrator.doctor.finding import Level
from orchestrator.doctor.world import disk as world_disk

GB = 10**9


def volume(free, *, files=10**7, **changes):
    return Volume(path="/store", free=free, files=files, **changes)


def images(free, *, files=10**7, held=0, limit=45 * GB):
    seen = None if free is None else volume(free, files=files)
    (found,) = judge_engine_disk(seen, root="/var/lib/docker", held=held, limit=limit)
    assert found.id == "disk.engine"
    assert (found.hint is None) is (found.level is Level.OK)
    return found


@pytest.mark.parametrize(
    ("free", "held", "level"),
    [
        (100 * GB, 0, Level.OK),
        (45 * GB, 0, Level.OK),
        (44 * GB, 0, Level.NOTE),
        (44 * GB, 10 * GB, Level.OK),
        (5 * GB, 40 * GB, Level.OK),
        (5 * GB, 60 * GB, Level.OK),
        (5 * GB, 30 * GB, Level.PROBLEM),
        (5 * GB, None, Level.OK),
    ],
)
def test_space_for_images(free, held, level):
    found = images(free, held=held)
    assert (found.level, found.stops) == (level, ())


@pytest.mark.parametrize(("free", "files"), [(0, 10**7), (LEAST - 1, 10**7), (50 * GB, LEAST_FILES - 1)])
def test_a_full_disk_stops(free, files):
    assert images(free, files=files).stops == ("docker",)
    (found,) = judge_store(volume(free, files=files), wheels=0)
    assert (found.level, found.stops) == (Level.PROBLEM, ("docker", "venv"))
    assert "prune" in found.hint


def test_a_file_system_that_counts_no_files():
    assert images(100 * GB, files=None).level is Level.OK


def test_a_place_that_is_not_seen_from_here():
    assert images(None).level is Level.NOTE


def test_the_limit_that_is_proposed_can_be_held():
    found = images(20 * GB, held=10 * GB)
    assert "29.0 GB" in found.hint


def test_space_for_wheels():
    (found,) = judge_store(volume(5 * GB), wheels=8 * GB)
    assert found.level is Level.NOTE
    (found,) = judge_store(volume(9 * GB), wheels=8 * GB)
    assert found.level is Level.OK


def test_a_store_that_cannot_be_written():
    (found,) = judge_store(volume(9 * GB, writable=False, trouble="Read-only file system"), wheels=0)
    assert found.stops == ("docker", "venv")
    assert "Read-only file system" in found.summary


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0 kB"), (-5, "0 kB"), (1500, "2 kB"), (12.3e6, "12 MB"), (1.44e9, "1.4 GB")]
)
def test_sizes(value, words):
    assert size(value) == words


# What asks.


def test_a_store_that_is_not_there_yet(tmp_path):
    seen = world_disk.store(tmp_path / "a" / "b")
    assert (seen.path, seen.writable) == (str(tmp_path / "a" / "b"), True)
    assert seen.free > 0
    assert list(tmp_path.iterdir()) == []


def test_a_store_below_a_file(tmp_path):
    (tmp_path / "file").touch()
    assert not world_disk.store(tmp_path / "file" / "store").writable


@pytest.mark.skipif(not Path("/proc/sys").is_dir(), reason="looks at Linux's /proc")
def test_a_store_where_nobody_may_write():
    assert not world_disk.store(Path("/proc/sys/store")).writable


@pytest.mark.parametrize("root", ["", "C:\\ProgramData\\Docker", "/var/lib/nowhere/docker", "relative"])
def test_data_that_is_not_here(root):
    assert world_disk.data_root(root) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_disk_that_is_really_full(tmp_path):
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        (tmp_path / "filler").write_bytes(b"x" * 64 * 1024)
        seen = world_disk.store(tmp_path)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert (seen.free, seen.writable) == (0, True)
    (found,) = judge_store(seen, wheels=0)
    assert found.summary.startswith("only 0 kB free")
