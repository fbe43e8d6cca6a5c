"""What a run answers does not depend on where its environments come from: built, pulled, unpacked, made again."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import uuid
from pathlib import Path

import pytest

import history
from answers import answers
from orchestrator.images import Engine, Inventory, reference
from orchestrator.images.inventory import base_reference
from registry_server import RegistryServer, free_port, need_registry
from wheelhouse import Wheelhouse

ROOT = Path(__file__).parents[2]

MATRIX = """\
version: 1
probes: probes
images: {{dockerfiles: images{registry}}}
indexes: {{house: "{index}"}}
bases: {{"3.11": {{image: "python:3.11-slim", debian: bookworm}}}}
limits: {{probe-timeout: 5s, memory: 1GB, shm: 64MB}}
packages:
  tinylib: {{repository: "https://example.org/tinylib", indexes: {{cpu: [house]}}}}
  bulk: {{indexes: {{cpu: [house]}}}}
stacks:
  tiny:
    device: cpu
    axes: {{tinylib: ">=1.0"}}
    companions: {{bulk: {{follows: tinylib, ranges: {{">=0": "1.0"}}}}}}
issues:
  introduced:
    title: introduced
    subject: {{tiny: tinylib}}
    expect: affected
    probes: ["test_tiny.py::test_introduced"]
  fixed:
    title: fixed
    subject: {{tiny: tinylib}}
    expect: ok
    probes: ["test_tiny.py::test_fixed"]
  crash:
    title: crash
    subject: {{tiny: tinylib}}
    expect: affected
    probes: ["test_tiny.py::test_crash"]
  number:
    title: number
    subject: {{tiny: tinylib}}
    expect: ok
    probes: ["test_tiny.py::test_number"]
    threshold: {{metric: error, above: 0.01}}
"""
MINORS = (4, 6, 8)
"""Good and bad for every issue: a failure comes, another goes, one release crashes."""

OUTCOMES = {
    "introduced": ["pass", "fail", "fail"],
    "fixed": ["fail", "fail", "pass"],
    "crash": ["pass", "pass", "crash"],
    "number": ["fail", "fail", "pass"],
}
CLOSED_PROXY = {
    name: f"http://127.0.0.1:{free_port()}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
}
OUT_OF_REACH = "builds do not reach this host's loopback interface"


class Project:
    """A matrix of three releases that share a wheel worth a layer, and what was made of it on the engine."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.house = Wheelhouse(directory / "house")
        seed = uuid.uuid4().hex  # other runs may be under way on the same engine
        bulk = hashlib.shake_256(seed.encode()).hexdigest(17_000_000)
        self.wheels = [self.house.add("bulk", "1.0", {"bulk/__init__.py": "", "bulk/data": bulk})]
        for place, minor in enumerate(MINORS):
            files = {"tinylib/__init__.py": history.source(minor)}
            uploaded = f"2024-{place + 1:02}-01T00:00:00Z"
            self.wheels.append(self.house.add("tinylib", f"1.{minor}", files, uploaded=uploaded))
        self.hashes = {hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in self.wheels}
        shutil.copytree(ROOT / "tests" / "support" / "tiny_probes", directory / "probes")
        shutil.copytree(ROOT / "images", directory / "images")
        recipe = directory / "images" / "base.Dockerfile"
        recipe.write_text(f"# {seed}\n{recipe.read_text(encoding='utf-8')}", encoding="utf-8")
        self.write()

    def write(self, name: str = "matrix.yaml", registry: str | None = None) -> str:
        place = f', registry: "{registry}"' if registry else ""
        text = MATRIX.format(index=self.house.url, registry=place)
        (self.directory / name).write_text(text, encoding="utf-8")
        return name

    def orchestrator(
        self, *arguments: str, cwd: Path | None = None, before: tuple[str, ...] = (), **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the program, as the users do."""
        given = {"PYTHONPATH": str(ROOT), "UV_CACHE_DIR": str(self.directory / "uv"), **more}
        done = subprocess.run(
            [*before, sys.executable, "-m", "orchestrator", *arguments],
            cwd=cwd or self.directory,
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def run(self, store: str, *arguments: str, matrix: str = "matrix.yaml", **more: object) -> Run:
        file = self.directory / f"{store}-{uuid.uuid4().hex[:8]}.json"
        started = time.monotonic()
        done = self.orchestrator(
            "run", matrix, "--store", store, "--jobs", "2", "--report", f"json:{file}", *arguments, **more
        )
        assert file.exists(), done.stderr
        print(f"{store}: {time.monotonic() - started:.1f} s")  # noqa: T201 - what takes long
        root = Path(more.get("cwd") or self.directory) / store
        return Run(root, done, json.loads(file.read_text(encoding="utf-8")))

    def layers(self) -> dict[str, object]:
        """Return what the engine holds of this project, by key."""
        with opened() as engine:
            held = Inventory(engine).held()
        return {key: one for key, one in held.items() if {wheel[2] for wheel in one.wheels} & self.hashes}

    def forget(self, base: str | None) -> None:
        """Remove the layers of this project, and its base, from the engine: exactly those."""
        with opened() as engine:
            inventory = Inventory(engine)
            while keys := self.layers():
                for key in keys:
                    inventory.discard(key)
            if base is not None and engine.image(base_reference(base)) is not None:
                engine.api.remove_image(base_reference(base))


class Run:
    """What one run left and said."""

    def __init__(self, store: Path, done: subprocess.CompletedProcess[str], report: dict[str, object]) -> None:
        self.store = store
        self.said = done.stderr
        self.code = done.returncode
        self.report = report
        self.logs = {path.stem for path in (store / "cache" / "docker" / "logs").glob("*.txt")}
        """The keys of what was built, as far as their logs' names go."""

    @property
    def answers(self) -> dict[str, object]:
        """The report without what is about the run itself: when, on what, and what the runtime has to say."""
        return answers(self.report)

    @property
    def said_of_versions(self) -> dict[str, object]:
        """The answers without how sure they are: running everything again makes them surer."""
        answers = copy.deepcopy(self.answers)
        for result in answers["results"]:
            for transition in result["transitions"]:
                del transition["confidence"]
        for evidence in answers["evidence"]:
            del evidence["belief"], evidence["runs"]
        return answers

    @property
    def sureness(self) -> list[float]:
        """The probability of each series, in order."""
        return [evidence["belief"]["probability"] for evidence in self.report["evidence"]]

    @property
    def notices(self) -> list[str]:
        return self.report["notices"]

    @property
    def notes(self) -> list[str]:
        return [line.partition("note: ")[2] for line in self.said.splitlines() if "note: " in line]


class opened:  # noqa: N801 - reads as what it is
    """An engine for as long as the context lasts."""

    def __enter__(self) -> Engine:
        self._engine = Engine()
        return self._engine

    def __exit__(self, *_: object) -> None:
        self._engine.close()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("parity"))


@pytest.fixture(scope="module")
def _clean(project):
    yield
    project.forget(base_of(project))


def base_of(project: Project) -> str | None:
    """Return the digest of the base that the runs of this project stood on, once there was one."""
    for attempt in project.directory.glob("store-classic/attempts/*/attempt.json"):
        return json.loads(attempt.read_text(encoding="utf-8"))["origin"]["base"]
    return None


@pytest.fixture
def bare(project, _clean):
    """The project, with nothing of it on the engine before and after."""
    project.forget(base_of(project))
    yield project
    project.forget(base_of(project))


@pytest.fixture(scope="module")
def classic(project, _clean):
    run = project.run("store-classic", "--runtime", "docker", "--builder", "classic")
    run.content = content(project)
    return run


@pytest.fixture(scope="module")
def bundle(project, classic):
    """A bundle of the first run's store."""
    target = project.directory / "bundle"
    done = project.orchestrator(
        "bundle", "matrix.yaml", "-o", str(target), "--runtime", "docker", "--store", "store-classic"
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def copied(bundle, bare):
    """A copy of the bundle at another place, with nothing of it on the engine."""
    return shutil.copytree(bundle, bare.directory / f"copied-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def away(project):
    """The wheelhouse is not where the locks say."""
    moved = project.house.directory.with_name("moved")
    project.house.directory.rename(moved)
    yield
    moved.rename(project.house.directory)


def content(project: Project) -> dict[str, str]:
    """Return what is installed in the environment of the last release: file to its hash."""
    (leaf,) = (key for key, one in project.layers().items() if ("tinylib", f"1.{MINORS[-1]}") == one.wheels[0][:2])
    with opened() as engine:
        container = engine.api.create_container(reference(leaf), command=["none"], network_disabled=True)
        try:
            stream, _ = engine.api.get_archive(container, "/opt/venv")
            packed = io.BytesIO(b"".join(stream))
        finally:
            engine.api.remove_container(container, v=True)
    with tarfile.open(fileobj=packed) as tar:
        return {
            member.name: hashlib.sha256(tar.extractfile(member).read()).hexdigest()
            for member in tar
            # A wheel that comes as a file leaves a record of that.
            if member.isfile() and Path(member.name).name not in ("direct_url.json", "RECORD", "uv_cache.json")
        }


@pytest.mark.engine
def test_the_answers_are_those_that_are_true(classic):
    assert classic.code == 0, classic.said
    found = {
        result["issue"]: [cell["outcome"] for cell in result["cells"].values()]
        for result in classic.report["results"]
    }
    assert found == OUTCOMES
    assert len(classic.logs) == 1 + 1 + len(MINORS), "the base, the shared layer, and one for each release"


@pytest.mark.engine
def test_venv(project, classic):
    run = project.run("store-venv", "--runtime", "venv")
    assert run.answers == classic.answers
    assert len(run.notices) == len(classic.notices) + 1


def test_venv_after_a_prune(project):
    first = project.run("store-pruned", "--runtime", "venv")
    keys = {path.name for path in environments(first)}
    assert len(keys) == 1 + len(MINORS)
    done = project.orchestrator(
        "prune", "--all", "--wheels", "--runtime", "venv", "--store", "store-pruned",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert environments(first) == []
    again = project.run("store-pruned", "--runtime", "venv", "--rerun", "all")
    assert again.said_of_versions == first.said_of_versions
    assert all(now > before for now, before in zip(again.sureness, first.sureness, strict=True))
    assert {path.name for path in environments(again)} == keys


def environments(run: Run) -> list[Path]:
    root = run.store / "cache" / "venv" / "environments"
    return [path.parent for path in root.glob("*/orchestrator-ready.json")]


@pytest.mark.engine
def test_buildkit_and_through_a_registry(classic, bare, tmp_path):
    """One run builds with the other builder and pushes; after all is gone, the next builds nothing."""
    need_registry()
    server = RegistryServer(tmp_path).start()
    try:
        matrix = bare.write("shared.yaml", f"{server.address}/parity")
        pushed = bare.run("store-pushed", "--runtime", "docker", "--builder", "buildkit", matrix=matrix)
        assert pushed.answers == classic.answers
        assert pushed.notices == classic.notices
        assert pushed.logs == classic.logs
        assert content(bare) == classic.content
        built = bare.layers()
        assert len(built) == 1 + len(MINORS)
        assert sum(note.startswith("pushed ") for note in pushed.notes) == 1 + 1 + len(MINORS)

        bare.forget(base_of(bare))
        assert bare.layers() == {}
        pulled = bare.run("store-pulled", "--runtime", "docker", matrix=matrix)
        assert pulled.answers == classic.answers
        assert pulled.notices == classic.notices
        assert pulled.logs == set(), "nothing was built"
        assert content(bare) == classic.content
        held = bare.layers()
        assert {key: (one.parent, one.base, one.wheels) for key, one in held.items()} == {
            key: (one.parent, one.base, one.wheels) for key, one in built.items()
        }
        leaves = [one for one in held.values() if one.parent is not None]
        assert len(leaves) == len(MINORS)
        for leaf in leaves:
            assert leaf.parent in held
            assert leaf.size < 1_000_000
    finally:
        server.kill()


@pytest.mark.engine
def test_after_everything_was_dropped(classic, bare):
    """The same store on an engine that has nothing of it any more: everything is made again, the very same."""
    shutil.rmtree(classic.store / "cache" / "docker" / "logs")
    again = bare.run("store-classic", "--runtime", "docker", "--rerun", "all")
    assert again.said_of_versions == classic.said_of_versions
    assert again.logs == classic.logs
    assert content(bare) == classic.content


@pytest.mark.engine
def test_registry_that_is_down(classic, bare):
    address = f"127.0.0.1:{free_port()}"
    matrix = bare.write("down.yaml", f"{address}/parity")
    run = bare.run("store-down", "--runtime", "docker", matrix=matrix)
    assert run.answers == classic.answers
    assert run.code == 0
    assert sum(note.startswith(f"the registry {address} does not work") for note in run.notes) == 1
    assert run.notes[-1].startswith(f"the registry {address} does not work"), "silence afterwards"


@pytest.mark.engine
def test_bundle_without_any_network(classic, copied, bare, away):
    """No interface at all, not even for builds to be served on: wheels go with the build's files."""
    alone = ("unshare", "--net")
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not take the network away")
    empty = str(bare.directory / "uv-empty")
    run = bare.run(".orchestrator", "--runtime", "docker", cwd=copied, before=alone, UV_CACHE_DIR=empty)
    assert run.code == 0, run.said
    assert run.answers == classic.answers
    assert run.notices == classic.notices
    (note,) = (note for note in run.notes if "loopback" in note)
    assert note.startswith(OUT_OF_REACH)
    assert run.logs == classic.logs - {base_of(bare)[:24]}, "the base was unpacked, not built"
    assert content(bare) == classic.content


@pytest.mark.engine
def test_bundle_with_indexes_out_of_reach(classic, copied, bare, away):
    empty = str(bare.directory / "uv-empty")
    run = bare.run(".orchestrator", cwd=copied, UV_CACHE_DIR=empty, **CLOSED_PROXY)
    assert run.code == 0, run.said
    assert run.answers == classic.answers
    assert run.notices == classic.notices
    assert not [note for note in run.notes if "loopback" in note]
    assert run.logs == classic.logs - {base_of(bare)[:24]}, "the base was unpacked, not built"
    assert content(bare) == classic.content


@pytest.mark.engine
def test_bundle_whose_base_is_damaged(copied, bare):
    """Copies break off: then every cell says what is wrong, and what to do."""
    (archive,) = copied.glob(".orchestrator/cache/bundle/bases/*.tar")
    with archive.open("r+b") as file:
        file.truncate(archive.stat().st_size // 2)
    run = bare.run(".orchestrator", "--runtime", "docker", cwd=copied)
    assert run.code == 4, run.said
    for result in run.report["results"]:
        for cell in result["cells"].values():
            assert cell["outcome"] == "build-failed"
            assert "in the bundle is damaged, write the bundle again: " in cell["signature"]
