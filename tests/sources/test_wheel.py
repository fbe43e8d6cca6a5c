from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from gitproject import BACKEND, START, GitProject
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.model import Package
from orchestrator.sources import BuildError, BuildSettings, build_wheel
from orchestrator.versions import Version
from wheelhouse import Wheelhouse

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SHOW = "import os; pathlib.Path('tiny/seen.py').write_text(repr(dict(os.environ)) + '\\n' + os.getcwd())"


@pytest.fixture
def project(tmp_path):
    project = GitProject(tmp_path / "project").start()
    project.release("1.0")
    return project


@pytest.fixture
def build(project, tmp_path, monkeypatch):
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    settings = {"cache": tmp_path / "cache", "timeout": 120.0, "grace": timedelta(days=14), "default_index": None}

    def build(sha, *, cancel=None, python=PYTHON, settings=settings, **more):
        changed = {name: more.pop(name) for name in settings if name in more}
        package = Package(
            **{"name": "tiny", "distribution": "tiny", "module": "tiny", "git": str(project.directory), **more}
        )
        given = BuildSettings(**{**settings, **changed})
        return build_wheel(package, sha, Version("1.1.dev1+gabc"), python, given, cancel=cancel)

    return build


def content(built, name="tiny/__init__.py"):
    with zipfile.ZipFile(built.wheel) as wheel:
        return wheel.read(name).decode()


def test_the_wheel_has_the_code_of_the_commit_and_is_built_once(project, build, tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("BUILD_LOG", str(log))
    one, two = project.commit("one"), project.commit("two")
    first = build(one)
    assert content(first) == "number = 3\n"
    assert content(build(two)) == "number = 4\n"
    assert build(one) == first
    assert first.committed == START + timedelta(hours=3)
    assert first.wheel.is_relative_to(tmp_path / "cache" / "sources" / "tiny")
    assert log.read_text().split() == [str(int((START + timedelta(hours=n)).timestamp())) for n in (3, 4)]


def test_what_is_checked_out_or_changed_there_does_not_matter_and_stays(project, build):
    sha = project.commit("one")
    project.commit("two")
    (project.directory / "tiny/__init__.py").write_text("dirty = True\n")
    (project.directory / "new.txt").write_text("untracked")
    before = project.git("status", "--porcelain=v2", "--branch"), project.git("rev-parse", "HEAD")
    assert content(build(sha)) == "number = 3\n"
    assert (project.git("status", "--porcelain=v2", "--branch"), project.git("rev-parse", "HEAD")) == before


def test_hooks_of_the_repository_do_not_run(project, build, tmp_path):
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = project.directory / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho ran >> '{tmp_path}/ran'\n")
        hook.chmod(0o755)
    build(project.git("rev-parse", "HEAD"))
    assert not (tmp_path / "ran").exists()


def test_a_remote_repository_gives_the_same_wheel(project, build, tmp_path):
    project.git("config", "uploadpack.allowFilter", "true")
    project.git("config", "uploadpack.allowAnySHA1InWant", "true")
    sha = project.commit("one")
    (tmp_path / "other").mkdir()
    there = build(sha, git=project.directory.as_uri(), cache=tmp_path / "other")
    assert there.wheel.read_bytes() == build(sha).wheel.read_bytes()


def test_a_mirror_that_lacks_the_commit_is_updated(project, build):
    url = project.directory.as_uri()
    build(project.git("rev-parse", "HEAD"), git=url)
    later = project.commit("later")
    assert content(build(later, git=url)) == "number = 3\n"


def test_a_commit_that_is_gone(build):
    with pytest.raises(EnvironmentUnusableError, match="has no commit 000000000000 any more"):
        build("0" * 40)


@pytest.mark.parametrize("sha", ["main", "--help", "abc123", "0" * 39])
def test_only_a_full_hash_is_taken(build, sha):
    with pytest.raises(BuildError, match="is not the full hash of a commit"):
        build(sha)


def test_a_build_knows_its_moment_and_no_secrets_and_no_repository_around_it(project, build, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "hush")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    sha = project.commit("show", {"recipe.py": SHOW, "tiny/__init__.py": ""})
    variables, directory = content(build(sha, build_environment={"USE_CPP": "0"}), "tiny/seen.py").splitlines()
    assert "hush" not in variables
    assert "/elsewhere" not in variables
    assert "'USE_CPP': '0'" in variables
    assert f"'SOURCE_DATE_EPOCH': '{int((START + timedelta(hours=3)).timestamp())}'" in variables
    assert "'SETUPTOOLS_SCM_PRETEND_VERSION': '1.1.dev1+gabc'" in variables
    assert f"'GIT_CEILING_DIRECTORIES': '{Path(directory).parents[1]}'" in variables
    assert not Path(directory).exists()


def test_settings_of_the_directory_that_this_process_is_in_do_not_matter(project, build, tmp_path, monkeypatch):
    (tmp_path / "uv.toml").write_text('extra-build-dependencies = {tiny = ["nothing-of-this-name"]}\n')
    monkeypatch.chdir(tmp_path)
    assert build(project.commit("one")).wheel.is_file()


def test_what_the_project_does_not_declare_is_there_as_of_the_commit(project, build, tmp_path):
    house = Wheelhouse(tmp_path / "house")
    house.add("engine", "1.0", uploaded="2024-03-02T00:00:00Z")
    house.add("engine", "2.0", uploaded="2025-01-01T00:00:00Z")
    recipe = "import engine; pathlib.Path('tiny/seen.py').write_text(engine.__version__)"
    sha = project.commit("needs more", {"recipe.py": recipe, "tiny/__init__.py": ""})
    with pytest.raises(BuildError, match="ModuleNotFoundError: No module named 'engine'"):
        build(sha, default_index=house.url)
    built = build(sha, default_index=house.url, build_requires=("engine",))
    assert content(built, "tiny/seen.py") == "1.0"


SETUPTOOLS = """\
import os, pathlib
def build_wheel(directory, config_settings=None, metadata_directory=None):
    exec(compile(pathlib.Path("setup.py").read_text(), "setup.py", "exec"))
    import backend
    return backend.build_wheel(directory)
class Legacy:
    build_wheel = staticmethod(build_wheel)
__legacy__ = Legacy()
"""


@pytest.mark.parametrize("before", [None, "[tool.other]\nkey = 1\n"])
def test_a_setup_script_that_imports_what_it_does_not_declare(project, build, tmp_path, before):
    """The shape of torchao: no build system, and `import torch` at the top. setuptools is a stand-in."""
    house = Wheelhouse(tmp_path / "house")
    house.add("engine", "1.0", uploaded="2024-03-02T00:00:00Z")
    stand_in = {"setuptools/__init__.py": "", "setuptools/build_meta.py": SETUPTOOLS, "backend.py": BACKEND}
    house.add("setuptools", "60.0", stand_in, uploaded="2024-03-02T00:00:00Z")
    project.git("rm", "--quiet", "pyproject.toml", "backend.py")
    given = {"pyproject.toml": before} if before else {}
    sha = project.commit("bare", {"setup.py": "import engine", "tiny/__init__.py": "", **given})
    assert build(sha, default_index=house.url, build_requires=("engine",)).wheel.is_file()


def test_an_index_without_dates_serves_builds_as_it_is(project, build, tmp_path):
    house = Wheelhouse(tmp_path / "house")
    house.add("engine", "2.0")
    sha = project.commit("needs more", {"recipe.py": "import engine", "tiny/__init__.py": ""})
    assert build(sha, default_index=house.url, build_requires=("engine",)).wheel.is_file()


def test_a_build_that_fails_says_why_and_how_it_ended(project, build):
    recipe = "print('compiling', flush=True)\nraise RuntimeError('no compiler here')"
    sha = project.commit("broken", {"recipe.py": recipe})
    with pytest.raises(BuildError) as caught:
        build(sha)
    first, *log = str(caught.value).splitlines()
    assert first == f"tiny at commit {sha[:12]} does not build: RuntimeError: no compiler here"
    assert "compiling" in log
    assert not caught.value.transient
    assert caught.value.lasting


def test_a_build_past_its_time_is_ended_with_what_it_started(project, build, tmp_path):
    recipe = (
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        f"pathlib.Path({str(tmp_path / 'child')!r}).write_text(str(child.pid))\n"
        "time.sleep(300)"
    )
    sha = project.commit("slow", {"recipe.py": recipe})
    with pytest.raises(BuildError, match=r"does not build within 4 s \(limits: build-timeout\)") as caught:
        build(sha, timeout=4.0)
    assert not caught.value.lasting
    assert gone(int((tmp_path / "child").read_text()))


def test_a_cancelled_build_ends_at_once(project, build):
    sha = project.commit("slow", {"recipe.py": "import time; time.sleep(300)"})
    cancel = threading.Event()
    timer = threading.Timer(1.0, cancel.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(BuildError, match="cancelled") as caught:
        build(sha, cancel=cancel)
    timer.join()
    assert caught.value.transient
    assert time.monotonic() - begun < 30


def test_those_who_want_one_wheel_at_the_same_time_share_one_build(project, build, tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("BUILD_LOG", str(log))
    sha = project.commit("one", {"recipe.py": "import time; time.sleep(0.5)", "tiny/__init__.py": ""})
    with ThreadPoolExecutor(4) as pool:
        paths = {built.wheel for built in pool.map(lambda _: build(sha), range(4))}
    assert len(paths) == 1
    assert len(log.read_text().split()) == 1


def test_half_a_wheel_is_built_again(project, build):
    sha = project.commit("one")
    built = build(sha)
    told = hashlib.sha256(built.wheel.read_bytes()).hexdigest()
    (built.wheel.parent / "built.json").unlink()
    built.wheel.write_bytes(b"half")
    assert hashlib.sha256(build(sha).wheel.read_bytes()).hexdigest() == told


def gone(number: int) -> bool:
    """Wait until a process has ended, or is nothing but an entry that nobody has read."""
    for _ in range(100):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False
        )
        if state.stdout.strip().startswith("Z"):
            return True
        time.sleep(0.1)
    return False
