"""Cells at versions between two releases: nightly builds and commits, from real wheels and a real repository."""

import hashlib
import shutil
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from builders import axis, companion, matrix, stack
from gitproject import GitProject
from orchestrator.matrix import cell_at, expand
from orchestrator.model import FROM_GIT, Device, LockedCell, Package, Unresolvable
from orchestrator.resolve import Resolver
from orchestrator.resolve.request import request
from orchestrator.sources import commits
from orchestrator.versions import Version
from wheelhouse import Wheelhouse

JANUARY, LATER = "2024-01-10T09:30:00Z", "2025-06-01T00:00:00Z"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def house(tmp_path):
    return Wheelhouse(tmp_path / "house")


@pytest.fixture
def default_index(tmp_path, monkeypatch):
    house = Wheelhouse(tmp_path / "default")
    house.directory.mkdir()
    monkeypatch.setenv("UV_DEFAULT_INDEX", house.url)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return house


def package(name, *candidates):
    return Package(name=name, distribution=name, module=name, indexes={Device.CPU: candidates or ("house",)})


def pins(locked):
    assert isinstance(locked, LockedCell), locked
    return {d.name: str(d.version) for d in locked.lock.distributions}


def at(tmp_path, one, version, *, packages, indexes, commit=None, **more):
    """Resolve the cell of a stack with one axis at a version that the matrix does not list."""
    asked = matrix(one, packages={p.name: p for p in packages}, indexes=indexes)
    resolver = Resolver(asked, tmp_path / "cache", **more)
    name = one.axes[0].package
    cell = cell_at(one, PYTHON, {name: Version(version)}, commits={name: commit} if commit else None)
    return resolver.resolve_one(cell)


def indexes_of(locked):
    return {d.name: d.index for d in locked.lock.distributions}


class TestNightly:
    """The shape of torch: a nightly index with mirrors of common names, and a compiler that only it has."""

    ENGINE = Package(
        name="engine",
        distribution="engine",
        module="engine",
        indexes={Device.CPU: ("house",)},
        nightlies={Device.CPU: ("nightly",)},
    )

    @pytest.fixture
    def nightly(self, tmp_path, house, default_index):
        house.add("engine", "2.1.0", requires=("helper",), uploaded=JANUARY)
        nightly = Wheelhouse(tmp_path / "nightly")
        needs = ("helper>=1.0", "words", "kernels==3.0.0+dedb7bdf33")
        for day in ("20240115", "20240116"):
            nightly.add("engine", f"2.2.0.dev{day}+cpu", requires=needs)
        nightly.add("kernels", "3.0.0+dedb7bdf33")
        nightly.add("helper", "0.9")
        nightly.add("words", "1.0")
        default_index.add("words", "1.0", uploaded=JANUARY)
        default_index.add("helper", "1.0", uploaded=JANUARY)
        default_index.add("helper", "2.0", uploaded=LATER)
        default_index.add(
            "kernels", "0.0.1", {"kernels/__init__.py": "raise SystemExit('squatted')"}, uploaded=JANUARY
        )
        return nightly

    def resolve(self, tmp_path, house, nightly, version="2.2.0.dev20240115+cpu", **more):
        one = stack("s", axis("engine", "2.1.0"), **more)
        indexes = {"house": house.url, "nightly": nightly.url}
        return at(tmp_path, one, version, packages=[self.ENGINE], indexes=indexes)

    def test_the_lock_of_a_nightly(self, tmp_path, house, nightly):
        locked = self.resolve(tmp_path, house, nightly)
        assert pins(locked) == {
            "engine": "2.2.0.dev20240115+cpu",
            "helper": "1.0",
            "kernels": "3.0.0+dedb7bdf33",
            "words": "1.0",
        }
        assert indexes_of(locked) == {
            "engine": "nightly",
            "helper": "default",
            "kernels": "nightly",
            "words": "default",
        }
        assert locked.lock.as_of == datetime(2024, 1, 29, tzinfo=UTC), "dated by its version"
        assert locked.lock.warnings == ()

    def test_what_only_a_nightly_of_another_package_satisfies(self, tmp_path, house, nightly, default_index):
        default_index.add("plugin", "0.4", uploaded=JANUARY)
        nightly.add("engine", "2.2.0.dev20240117+cpu", requires=("plugin>0.4",))
        nightly.add("plugin", "0.5.0.dev20240117", requires=("engine==2.2.0.dev20240117",))
        locked = self.resolve(tmp_path, house, nightly, "2.2.0.dev20240117+cpu")
        assert indexes_of(locked) == {"engine": "nightly", "plugin": "nightly"}

    def test_upload_times_of_the_index_are_believed_before_the_version(self, tmp_path, house, nightly):
        nightly.add("engine", "2.2.0.dev20240117+cpu", uploaded="2024-03-10T00:00:00Z")
        locked = self.resolve(tmp_path, house, nightly, "2.2.0.dev20240117+cpu")
        assert locked.lock.as_of == datetime(2024, 3, 24, tzinfo=UTC)

    def test_one_that_was_deleted_is_unresolvable(self, tmp_path, house, nightly):
        failed = self.resolve(tmp_path, house, nightly, "2.2.0.dev20240118+cpu")
        assert isinstance(failed, Unresolvable)
        assert not failed.transient
        assert "engine==2.2.0.dev20240118+cpu" in failed.reason

    def test_a_nightly_index_that_is_silent_is_not_a_fact(self, tmp_path, house, nightly):
        one = stack("s", axis("engine", "2.1.0"))
        indexes = {"house": house.url, "nightly": "http://127.0.0.1:9/simple"}
        failed = at(tmp_path, one, "2.2.0.dev20240115+cpu", packages=[self.ENGINE], indexes=indexes)
        assert isinstance(failed, Unresolvable)
        assert failed.transient

    def test_a_companion_stays_on_its_own_index(self, tmp_path, house, nightly):
        house.add("engine", "2.2.0", uploaded=JANUARY)
        house.add("plugin", "0.4", uploaded=JANUARY)
        nightly.add("plugin", "0.4")
        one = stack("s", axis("engine", "2.1.0"), companions=(companion("plugin", "engine", {"==2.2.0": "0.4"}),))
        indexes = {"house": house.url, "nightly": nightly.url}
        packages = [self.ENGINE, package("plugin")]
        locked = at(tmp_path, one, "2.2.0.dev20240115+cpu", packages=packages, indexes=indexes)
        assert indexes_of(locked)["plugin"] == "house"

    def test_a_release_is_asked_for_as_if_there_were_no_nightlies(self, house, nightly):
        one = stack("s", axis("engine", "2.1.0"))
        (cell,) = expand(matrix(one))

        def asked(engine, **indexes):
            whole = matrix(one, packages={"engine": engine}, indexes={"house": house.url, **indexes})
            return request(whole, cell, "x86_64-manylinux_2_28", grace_days=14)

        plain = replace(self.ENGINE, nightlies={})
        assert asked(self.ENGINE, nightly=nightly.url) == asked(plain)
        assert asked(self.ENGINE, nightly=nightly.url).key == asked(plain).key


def test_the_key_of_a_request_is_the_one_it_always_had():
    """Locks that were kept by earlier versions are found again."""
    one = stack("s", axis("engine", "1.0"), requirements=("numpy<2",))
    asked = matrix(one, packages={"engine": package("engine")}, indexes={"house": "https://example.org/simple"})
    (cell,) = expand(asked)
    key = request(asked, cell, "x86_64-manylinux_2_28", grace_days=14).key
    assert key == "569f8078dba3aae6fceb2fd0a962fc21184561ab57ac42971cb4580b76228b04"


class TestCommit:
    TINY = Package(name="tiny", distribution="tiny", module="tiny", indexes={Device.CPU: ("house",)})

    @pytest.fixture
    def project(self, tmp_path, house, default_index):
        default_index.add("helper", "1.0", uploaded=JANUARY)
        default_index.add("helper", "2.0", uploaded="2024-03-05T00:00:00Z")
        default_index.add("helper", "3.0", uploaded=LATER)
        return GitProject(tmp_path / "project").start()

    def resolve(self, tmp_path, house, project, commit, *, version=None, tiny=TINY, **more):
        tiny = replace(tiny, git=str(project.directory))
        one = stack("s", axis("tiny", "1.0"), **{key: more.pop(key) for key in ("companions",) if key in more})
        packages = [tiny, *more.pop("packages", ())]
        given = version or str(commit.version)
        indexes = {"house": house.url}
        sha = commit if version else commit.sha
        return at(tmp_path, one, given, packages=packages, indexes=indexes, commit=sha, **more)

    @pytest.fixture
    def between(self, tmp_path, project):
        """Two commits between 1.0 and 1.1, the second with another requirement, and the release."""
        project.release("1.0")
        project.commit("first")
        project.commit("needs a helper", {"REQUIRES": "helper"})
        project.release("1.1")
        tiny = replace(self.TINY, git=str(project.directory))
        return commits(tiny, tmp_path / "cache", Version("1.0"), Version("1.1"))

    def test_the_lock_of_a_commit(self, tmp_path, house, project, between):
        locked = self.resolve(tmp_path, house, project, between[1])
        assert pins(locked) == {"tiny": "1.0", "helper": "2.0"}
        assert locked.lock.as_of == datetime(2024, 3, 15, tzinfo=UTC), "the commit's date"
        tiny = next(d for d in locked.lock.distributions if d.name == "tiny")
        wheel = Path(url2pathname(urlsplit(tiny.url).path))
        assert wheel.is_relative_to(tmp_path / "cache" / "sources")
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() == tiny.sha256
        assert (tiny.size, tiny.index) == (wheel.stat().st_size, FROM_GIT)
        assert pins(self.resolve(tmp_path, house, project, between[0])) == {"tiny": "1.0"}

    def test_a_newer_pin_decides_the_moment(self, tmp_path, house, project, between):
        house.add("engine", "7.0", uploaded="2024-06-01T00:00:00Z")
        rules = (companion("engine", "tiny", {"==1.1": "7.0"}),)
        locked = self.resolve(tmp_path, house, project, between[1], companions=rules, packages=[package("engine")])
        assert pins(locked)["engine"] == "7.0"
        assert locked.lock.as_of == datetime(2024, 6, 15, tzinfo=UTC)

    def test_it_is_kept_as_long_as_its_wheel_is_there(self, tmp_path, house, project, between):
        before = self.resolve(tmp_path, house, project, between[0])
        project.directory.rename(tmp_path / "gone")
        assert self.resolve(tmp_path, house, project, between[0]) == before
        (tmp_path / "gone").rename(project.directory)
        shutil.rmtree(tmp_path / "cache" / "sources")
        again = self.resolve(tmp_path, house, project, between[0])
        assert again == before
        assert next((tmp_path / "cache" / "sources").rglob("*.whl")).is_file()

    def test_one_commit_has_one_lock_wherever_it_lies(self, tmp_path, house, project, between):
        first = self.resolve(tmp_path, house, project, between[0])
        other = self.resolve(tmp_path, house, project, between[0].sha, version="1.2.dev40+gab")
        assert other.lock == first.lock
        assert len(list((tmp_path / "cache" / "locks").glob("*.json"))) == 1

    def test_one_that_does_not_build_is_unresolvable_and_remembered(self, tmp_path, house, project):
        project.release("1.0")
        sha = project.commit("broken", {"recipe.py": "raise RuntimeError('no compiler')"})
        failed = self.resolve(tmp_path, house, project, sha, version="1.1.dev1")
        assert isinstance(failed, Unresolvable)
        assert not failed.transient
        assert failed.reason.startswith(f"tiny at commit {sha[:12]} does not build: RuntimeError: no compiler\n")
        project.directory.rename(tmp_path / "gone")
        assert self.resolve(tmp_path, house, project, sha, version="1.1.dev1") == failed

    def test_another_recipe_is_another_request(self, tmp_path, house, project):
        project.release("1.0")
        code = "import os\nif 'WITH' not in os.environ: raise RuntimeError('without')"
        sha = project.commit("choosy", {"recipe.py": code})
        assert isinstance(self.resolve(tmp_path, house, project, sha, version="1.1.dev1"), Unresolvable)
        more = replace(self.TINY, build_environment={"WITH": "1"})
        assert pins(self.resolve(tmp_path, house, project, sha, version="1.1.dev1", tiny=more)) == {"tiny": "1.0"}

    def test_a_repository_that_cannot_be_used_is_not_a_fact_about_the_commit(self, tmp_path, house, project):
        project.release("1.0")
        failed = self.resolve(tmp_path, house, project, "0" * 40, version="1.1.dev1")
        assert isinstance(failed, Unresolvable)
        assert failed.transient
        assert list((tmp_path / "cache" / "locks").glob("*.json")) == []

    def test_a_cancelled_resolution_builds_nothing(self, tmp_path, house, project):
        project.release("1.0")
        sha = project.commit("slow", {"recipe.py": "import time; time.sleep(300)"})
        cancel = threading.Event()
        cancel.set()
        failed = self.resolve(tmp_path, house, project, sha, version="1.1.dev1", cancel=cancel)
        assert isinstance(failed, Unresolvable)
        assert failed.transient
