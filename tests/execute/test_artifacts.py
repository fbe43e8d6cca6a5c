import os
import socket
import time

import pytest

from orchestrator.execute.artifacts import harvest_directory
from orchestrator.execute.port import ARTIFACTS, MAX_ARTIFACT


def test_what_is_expected_is_taken_and_nothing_else(tmp_path):
    for name in (*ARTIFACTS, "other.txt", "core"):
        (tmp_path / name).write_bytes(name.encode())
    harvest = harvest_directory(tmp_path)
    assert harvest.taken == {name: name.encode() for name in ARTIFACTS}
    assert harvest.refused == {}


def test_what_is_missing_is_nowhere(tmp_path):
    harvest = harvest_directory(tmp_path)
    assert harvest.taken == harvest.refused == {}


def link(path):
    (path.parent.parent / "secret").write_text("secret")
    path.symlink_to(path.parent.parent / "secret")


def dangling(path):
    path.symlink_to("/nowhere")


def hard_link(path):
    (path.parent.parent / "secret").write_text("secret")
    path.hardlink_to(path.parent.parent / "secret")


def listening(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def sparse(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (link, "is a symbolic link"),
        (dangling, "is a symbolic link"),
        (hard_link, "is a hard link"),
        (os.mkfifo, "is a FIFO"),
        (os.mkdir, "is a directory"),
        (listening, "is a socket"),
        (sparse, "is too large"),
    ],
)
def test_traps(tmp_path, make, reason):
    out = tmp_path / "out"
    out.mkdir()
    make(out / "junit.xml")
    (out / "report.jsonl").write_text("{}")
    start = time.monotonic()
    harvest = harvest_directory(out)
    assert time.monotonic() - start < 2
    assert harvest.taken == {"report.jsonl": b"{}"}
    assert list(harvest.refused) == ["junit.xml"]
    assert reason in harvest.refused["junit.xml"]


def test_size_limit_is_exact(tmp_path):
    (tmp_path / "junit.xml").write_bytes(b"x" * MAX_ARTIFACT)
    (tmp_path / "report.jsonl").write_bytes(b"x" * (MAX_ARTIFACT + 1))
    harvest = harvest_directory(tmp_path)
    assert len(harvest.taken["junit.xml"]) == MAX_ARTIFACT
    assert list(harvest.refused) == ["report.jsonl"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_file_that_may_not_be_read(tmp_path):
    (tmp_path / "junit.xml").write_text("x")
    (tmp_path / "junit.xml").chmod(0)
    assert "cannot be read" in harvest_directory(tmp_path).refused["junit.xml"]


def test_directory_that_is_a_link_or_gone(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/junit.xml").write_text("x")
    (tmp_path / "out").symlink_to(tmp_path / "real")
    for path in (tmp_path / "out", tmp_path / "nowhere"):
        harvest = harvest_directory(path)
        assert harvest.taken == {}
        assert set(harvest.refused) == set(ARTIFACTS)
