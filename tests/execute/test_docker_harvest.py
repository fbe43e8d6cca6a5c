"""What is taken out of a container, from an engine that answers as the real one does."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass, field
from http import HTTPStatus

import pytest
from docker.errors import APIError, NotFound

from orchestrator.execute.docker_harvest import harvest_container
from orchestrator.execute.port import ARTIFACTS

REGULAR, GO_SYMLINK = 0o644, 0o777 | 1 << 27


@dataclass
class Entry:
    """A file of the result directory; a link where it has a target."""

    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    target: str = ""


@dataclass
class Engine:
    """Gives archives of one container's `/out`; the whole of it in pieces, as far as somebody reads them."""

    files: dict[str, Entry]
    fails: tuple[str, ...] = ()
    root: str = "out"
    """What the directory is called in an archive of it: Podman calls a volume `/`."""
    asked: list[str] = field(default_factory=list)
    sent: int = 0

    def get_archive(self, container, path):
        self.asked.append(path)
        if path in self.fails:
            raise APIError("the engine is not well")
        if path == "/out":
            whole = {f"{self.root}/": Entry(kind=tarfile.DIRTYPE)}
            whole |= {f"{self.root}/{name}": entry for name, entry in self.files.items()}
            return self._pieces(archive(whole)), {}
        name = path.removeprefix("/out/")
        if name not in self.files:
            raise NotFound(HTTPStatus.NOT_FOUND.phrase)
        entry = self.files[name]
        mode = REGULAR if entry.kind == tarfile.REGTYPE else GO_SYMLINK
        return self._pieces(archive({name: entry})), {"mode": mode, "size": len(entry.data)}

    def _pieces(self, data):
        for start in range(0, len(data), 1 << 20):
            piece = data[start : start + (1 << 20)]
            self.sent += len(piece)
            yield piece


def archive(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, entry in files.items():
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = entry.kind, len(entry.data), entry.target
            tar.addfile(member, io.BytesIO(entry.data))
    return buffer.getvalue()


WHOLE = {name: Entry(name.encode()) for name in ARTIFACTS}


@pytest.mark.parametrize("root", ["out", ""])
def test_all_files_come_with_one_request(root):
    others = {"other.txt": Entry(b"x"), "sub/junit.xml": Entry(b"not this"), "out/junit.xml": Entry(b"nor this")}
    engine = Engine(WHOLE | others, root=root)
    harvest = harvest_container(engine, "c")
    assert harvest.taken == {name: name.encode() for name in ARTIFACTS}
    assert harvest.refused == {}
    assert engine.asked == ["/out"]


def test_what_is_missing_is_nowhere():
    harvest = harvest_container(Engine({}), "c")
    assert harvest.taken == harvest.refused == {}


def test_a_large_directory_is_not_transferred():
    engine = Engine({"core": Entry(b"x" * (64 << 20)), **WHOLE})
    harvest = harvest_container(engine, "c")
    assert harvest.taken == {name: name.encode() for name in ARTIFACTS}
    assert engine.sent < 6 << 20


def test_a_link_is_not_asked_for():
    engine = Engine(WHOLE | {"junit.xml": Entry(kind=tarfile.SYMTYPE, target="/etc/passwd")})
    harvest = harvest_container(engine, "c")
    assert set(harvest.taken) == {*ARTIFACTS} - {"junit.xml"}
    assert harvest.refused == {"junit.xml": "is a symbolic link"}
    assert engine.asked == ["/out"]


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_what_is_no_plain_file_is_looked_at_by_itself(kind):
    engine = Engine(WHOLE | {"junit.xml": Entry(kind=kind, target="/etc/passwd")})
    harvest = harvest_container(engine, "c")
    assert set(harvest.taken) == {*ARTIFACTS} - {"junit.xml"}
    assert list(harvest.refused) == ["junit.xml"]
    assert engine.asked == ["/out", "/out/junit.xml"]


def test_an_engine_that_does_not_give_the_directory_may_give_the_files():
    engine = Engine(WHOLE, fails=("/out", "/out/session.json"))
    harvest = harvest_container(engine, "c")
    assert set(harvest.taken) == {*ARTIFACTS} - {"session.json"}
    assert "not well" in harvest.refused["session.json"]


def test_an_archive_that_is_cut_gives_what_came_whole():
    class Cut(Engine):
        def _pieces(self, data):
            yield data[: len(data) // 2] if self.asked[-1] == "/out" else data

    harvest = harvest_container(Cut(WHOLE), "c")
    assert harvest.taken == {name: name.encode() for name in ARTIFACTS}
