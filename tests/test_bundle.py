"""Bundles: a project with all that it needs, written, brought up to date, refused, and run without any index."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from answers import answers
from builders import axis, matrix, stack
from orchestrator.bundle import Bundled, bundled, write_bundle
from orchestrator.cli.workshop import open_workshop
from orchestrator.config import load
from orchestrator.errors import ConfigError, EnvironmentUnusableError, InterruptedRunError
from orchestrator.execute.progress import Silent
from orchestrator.execute.runner import prepare_runner
from orchestrator.matrix import Selection, expand
from orchestrator.model import Unresolvable
from orchestrator.prospect import prospect
from orchestrator.resolve import IndexUnreachableError, Pages, Resolver
from wheelhouse import Wheelhouse

ROOT = Path(__file__).parents[1]
PROBES = """\
import tinylib


def test_answer():
    assert tinylib.answer() == 4
"""
MATRIX = """\
version: 1
probes: {probes}
images: {{dockerfiles: {images}}}
indexes: {{house: "{index}"}}
bases: {{"3.11": {{image: "python:3.11-slim"}}}}
packages:
  tinylib: {{indexes: {{cpu: [house]}}}}
stacks:
  tiny: {{device: cpu, axes: {{tinylib: "{versions}"}}}}
issues:
  answer: {{title: answer, subject: {{tiny: tinylib}}, expect: ok, probes: ["test_answer.py::test_answer"]}}
"""
CLOSED = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")


class Project:
    """A matrix of three releases, the second of which is wrong."""

    def __init__(self, directory: Path, runner: Path) -> None:
        self.home = directory / "project"
        self.home.mkdir()
        self.house = Wheelhouse(directory / "house")
        self.wheels = {
            version: self.house.add(
                "tinylib", version, {"tinylib/__init__.py": f"def answer():\n    return {number}\n"},
                uploaded=f"2024-0{place}-01T00:00:00Z",
            )
            for place, (version, number) in enumerate((("1.0", 4), ("1.1", 5), ("1.2", 4)), start=1)
        }  # fmt: skip
        (self.home / "probes").mkdir()
        (self.home / "probes" / "test_answer.py").write_text(PROBES, encoding="utf-8")
        shutil.copytree(ROOT / "images", self.home / "images")
        self.store = self.home / ".orchestrator"
        shutil.copytree(runner, self.store / "cache" / "runner")
        self.target = directory / "bundle"
        self.matrix()

    def matrix(self, *, probes: str = "probes", images: str = "images", versions: str = ">=1.0") -> None:
        text = MATRIX.format(probes=probes, images=images, index=self.house.url, versions=versions)
        (self.home / "matrix.yaml").write_text(text, encoding="utf-8")

    def write(
        self, target: Path | None = None, *, cancel: threading.Event | None = None, refresh: bool = True
    ) -> Bundled:
        given = {"store": self.store, "runtime": "venv", "builder": "auto", "refresh": refresh}
        loaded = load(self.home / "matrix.yaml")
        with open_workshop(given, loaded, Silent(), cancel) as shop:
            seen = prospect(shop, Selection())
            return write_bundle(shop, seen, target or self.target)

    def run(self, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "UV_CACHE_DIR": str(self.home.parent / "uv")}
        command = [sys.executable, "-m", "orchestrator", *arguments, "--runtime", "venv"]
        return subprocess.run(
            command,
            cwd=cwd,
            env=environment | CLOSED,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def answers(self, cwd: Path) -> dict[str, object]:
        report = cwd / "report.json"
        done = self.run(cwd, "run", "matrix.yaml", "--report", f"json:{report}")
        assert done.returncode == 0, done.stderr
        told = json.loads(report.read_text(encoding="utf-8"))
        assert told["run"]["runtime"] == "venv"
        return answers(told)

    def names(self) -> set[str]:
        """Return the wheels in the bundle."""
        return {path.name for path in (self.target / ".orchestrator/cache/bundle/wheels").rglob("*.whl")}


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """The runner, installed once for all projects."""
    cache = tmp_path_factory.mktemp("runner")
    return prepare_runner(cache, "3.11").parent


@pytest.fixture
def project(tmp_path, runner):
    return Project(tmp_path, runner)


def test_it_answers_like_the_project_with_nothing_but_itself(project):
    done = project.write()
    assert (done.cells, done.wheels) == (3, 3)
    assert done.size == sum(wheel.stat().st_size for wheel in project.wheels.values())
    expected = project.answers(project.home)
    assert [cell["outcome"] for cell in expected["results"][0]["cells"].values()] == ["pass", "fail", "pass"]
    elsewhere = shutil.copytree(project.target, project.home.parent / "elsewhere")
    shutil.rmtree(project.home)
    shutil.rmtree(project.house.directory)
    shutil.rmtree(project.target)
    shutil.rmtree(elsewhere.parent / "uv")
    assert project.answers(elsewhere) == expected


def test_nothing_in_it_needs_a_file_of_this_host(project):
    project.write()
    for lock in (project.target / ".orchestrator" / "cache" / "locks").iterdir():
        text = lock.read_text(encoding="utf-8")
        assert "file:" not in text
        assert str(project.home.parent) not in text


def test_written_twice_it_is_brought_up_to_date(project):
    (project.home / "probes" / "conftest.py").write_text("raise RuntimeError\n", encoding="utf-8")
    project.write()
    assert project.names() == {wheel.name for wheel in project.wheels.values()}
    (project.home / "probes" / "conftest.py").unlink()
    (project.home / "probes" / "test_answer.py").write_text(f"{PROBES}    # better\n", encoding="utf-8")
    (project.home / "images" / "layer.Dockerfile").write_text("# another\n", encoding="utf-8")
    project.matrix(versions="==1.2")
    (wheel,) = project.target.rglob("*1.2*.whl")
    halves = [wheel.with_name(f".{wheel.name}.123"), wheel.parents[3] / "bases" / f"{'0' * 64}.part"]
    for half in halves:
        half.parent.mkdir(exist_ok=True)
        half.write_bytes(b"half")
    assert project.write().cells == 1
    assert not [half for half in halves if half.exists()]
    assert project.names() == {project.wheels["1.2"].name}
    for directory in ("probes", "images"):
        there = {path.name: path.read_bytes() for path in (project.target / directory).iterdir()}
        assert there == {path.name: path.read_bytes() for path in (project.home / directory).iterdir()}
    assert list(project.answers(project.target)["results"][0]["cells"]) == ["1.2"]


def test_caches_and_stores_are_left_out(project):
    for name in ("__pycache__", "nested/.orchestrator", "cache"):
        directory = project.home / "probes" / name
        directory.mkdir(parents=True)
        (directory / "big").write_text("x", encoding="utf-8")
    (project.home / "probes" / "cache" / "CACHEDIR.TAG").write_text("x", encoding="utf-8")
    project.write()
    assert list(project.target.rglob("big")) == []


@pytest.mark.parametrize("place", ["file", "directory/file"])
def test_what_is_no_bundle_is_refused_and_left_alone(project, place):
    path = project.home.parent / place
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not empty and no bundle"):
        project.write(project.home.parent / place.split("/", maxsplit=1)[0])
    assert path.read_text(encoding="utf-8") == "mine"
    assert [p for p in path.parent.iterdir() if p.name not in ("house", "project", "uv")] == [path]


@pytest.mark.parametrize("place", [".", "..", "probes/bundle", "images"])
def test_the_project_is_not_written_over(project, place):
    before = sorted(project.home.glob("[pim]*/*"))
    with pytest.raises(ConfigError, match="is where the matrix, its probes or its Dockerfiles are"):
        project.write(project.home / place)
    assert sorted(project.home.glob("[pim]*/*")) == before


def test_a_bundle_beside_the_matrix(project):
    project.write(project.home / "bundle")
    assert bundled(project.home / "bundle" / ".orchestrator" / "cache") is not None


@pytest.mark.parametrize("which", ["probes", "images"])
def test_directories_elsewhere_are_refused(project, which):
    outside = project.home.parent / "outside"
    (project.home / which).rename(outside)
    project.matrix(**{which: "../outside"})
    with pytest.raises(ConfigError, match="outside lies outside of the matrix's directory") as caught:
        project.write()
    assert "move the probes and Dockerfiles below it" in str(caught.value.hint)
    assert not project.target.exists()


def test_absolute_paths_are_refused(project):
    """They lie below the matrix here, and would not on another host."""
    project.matrix(probes=str(project.home / "probes"))
    with pytest.raises(ConfigError, match="would not find its probes") as caught:
        project.write()
    assert "relative paths" in str(caught.value.hint)
    assert bundled(project.target / ".orchestrator" / "cache") is None


def test_what_broke_off_is_gone_on_with(project):
    project.write()
    shutil.rmtree(project.target)
    wheel = project.wheels["1.2"]
    content = wheel.read_bytes()
    wheel.write_bytes(content + b"changed since")
    with pytest.raises(EnvironmentUnusableError, match="is not the file any more that was locked"):
        project.write(refresh=False)
    # Half of one is none: nobody runs it as if it were whole.
    assert project.names() == {project.wheels["1.0"].name, project.wheels["1.1"].name}
    assert bundled(project.target / ".orchestrator" / "cache") is None
    wheel.write_bytes(content)
    assert project.write(refresh=False).wheels == 3
    assert project.names() == {wheel.name for wheel in project.wheels.values()}
    assert not list(project.target.rglob(".*.whl.*"))
    assert len(project.answers(project.target)["results"][0]["cells"]) == 3


def test_one_that_is_brought_up_to_date_is_none_until_it_is_done(project):
    project.write()
    shutil.rmtree(project.target / ".orchestrator/cache/bundle/wheels")
    project.wheels["1.0"].unlink()
    with pytest.raises(EnvironmentUnusableError, match="the file is not there"):
        project.write(refresh=False)
    assert bundled(project.target / ".orchestrator" / "cache") is None


def test_one_that_was_stopped_says_so(project):
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(InterruptedRunError) as caught:
        project.write(cancel=cancel)
    assert "goes on from there" in str(caught.value.hint)
    assert bundled(project.target / ".orchestrator" / "cache") is None
    assert project.write().cells == 3


def test_some_cells(project):
    done = project.run(project.home, "bundle", "-o", "../some", "-k", "tinylib<1.2", "--skip", "*1.1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "  orchestrator run matrix.yaml --skip '*1.1' -k 'tinylib<1.2'"
    some = project.home.parent / "some"
    shutil.rmtree(project.house.directory)
    report = some / "report.json"
    done = project.run(some, "run", "-k", "tinylib<1.2", "--skip", "*1.1", "--report", f"json:{report}")
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(report.read_text(encoding="utf-8"))["results"][0]["cells"].values()
    assert cell["outcome"] == "pass"


def test_a_bundle_is_not_refreshed(project):
    project.write()
    done = project.run(project.target, "run", "--refresh")
    assert done.returncode == 2
    assert "a bundle asks no index" in done.stderr


@pytest.fixture
def asked():
    """An index that counts what it is asked."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            paths.append(self.path)
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b'<a href="engine-1.0-py3-none-any.whl">engine-1.0-py3-none-any.whl</a>')

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple", paths
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("refresh", [False, True])
def test_offline_pages_never_ask(tmp_path, asked, refresh):
    url, paths = asked
    online = Pages(tmp_path, {"house": url}).page("house", "Engine")
    assert len(paths) == 1
    (kept,) = tmp_path.glob("*.json")
    kept.write_text(kept.read_text(encoding="utf-8").replace(f"{online.read:%Y}", "2001", 1), encoding="utf-8")
    offline = Pages(tmp_path, {"house": url}, offline=True, refresh=refresh)
    assert offline.page("house", "engine").releases == online.releases
    assert offline.page("house", "engine").read.year == 2001
    with pytest.raises(IndexUnreachableError, match="is not in the bundle"):
        offline.page("house", "other")
    assert len(paths) == 1


def test_offline_an_index_may_have_another_address(tmp_path, asked):
    url, paths = asked
    online = Pages(tmp_path, {"house": url}).page("house", "engine")
    moved = Pages(tmp_path, {"house": "https://index.example/simple", "other": url}, offline=True)
    assert moved.page("house", "engine") == online
    assert len(paths) == 1


def test_offline_a_cell_without_a_lock_is_not_resolved(tmp_path, asked):
    url, paths = asked
    small = matrix(stack("tiny", axis("engine", "1.0")), indexes={"default": url}, root=tmp_path)
    (cell,) = expand(small, {})
    answer = Resolver(small, tmp_path, offline=True).resolve_one(cell)
    assert isinstance(answer, Unresolvable)
    assert answer.transient
    assert "without this cell" in answer.reason
    assert paths == []
