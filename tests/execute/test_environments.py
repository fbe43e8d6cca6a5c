"""Environments on disk: grown by hard links, whole or not there, and never taken from under others."""

import json
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from containers import BASE, distribution, payload, quiet, wheels
from many_locks import wheel
from orchestrator.execute.environments import Environments
from orchestrator.execute.port import Base, Step
from orchestrator.execute.venv import VenvRuntime
from orchestrator.model import Limits
from wheelhouse import Wheelhouse

MARKER = "orchestrator-ready.json"
HERE = Base(python="3.11", digest="d" * 64, reference="python3", origin="test")


def step(key, parent=None, *distributions, base=HERE):
    return Step(key=key, parent=parent, base=base, platform="linux", distributions=distributions)


def make(environments, made, **files):
    """Make an environment that holds some files."""
    with environments.making(made) as wanted:
        assert wanted
        environments.grow(made)
        for name, text in files.items():
            path = environments.directory(made.key) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return environments.directory(made.key)


@pytest.fixture
def environments(tmp_path):
    return Environments(tmp_path / "environments")


def test_nothing_is_there_at_first(environments):
    assert environments.held() == {}
    assert not environments.ready("one")
    environments.touch("one")
    environments.discard("one")
    assert not environments.root.exists()


def test_a_child_has_its_parents_files_and_not_its_marks(environments):
    parent = make(environments, step("one"), **{"lib/data": "x", ".lock": "", "lib/locked.txt": "a wheel's"})
    (parent / "lib/link").symlink_to("data")
    (parent / "lib64").symlink_to("lib")
    one, two = step("two", "one"), step("three", "one")
    children = [make(environments, child, **{"lib/more": child.key, ".lock": ""}) for child in (one, two)]
    for child in children:
        assert (child / "lib/data").stat().st_ino == (parent / "lib/data").stat().st_ino
        assert (child / "lib/link").readlink() == Path("data")
        assert (child / "lib64").readlink() == Path("lib")
        assert (child / "lib/locked.txt").read_text() == "a wheel's"
        for own in (MARKER, ".lock", "locked.txt"):
            assert (child / own).stat().st_ino != (parent / own).stat().st_ino
    assert not (parent / "lib/more").exists()
    assert children[0].joinpath("lib/more").read_text() == "two"


def test_where_no_more_links_can_be_made_a_file_is_copied(environments, monkeypatch):
    def full(_source, _target):
        raise OSError(31, "Too many links")

    parent = make(environments, step("one"), data="x")
    monkeypatch.setattr(os, "link", full)
    child = make(environments, step("two", "one"))
    assert (child / "data").read_text() == "x"
    assert (child / "data").stat().st_ino != (parent / "data").stat().st_ino


def test_what_is_held_is_what_was_made(environments):
    big, small = wheel("torch", 9000), wheel("six", 10)
    below = step("one", None, small, big)
    begun = datetime.now(UTC)
    make(environments, below, data="x" * 5000)
    above = step("two", "one", wheel("numpy", 20))
    make(environments, above, more="y" * 3000)
    held = environments.held()
    assert set(held) == {"one", "two"}
    parent, child = held["one"], held["two"]
    assert (parent.key, parent.parent, parent.base, parent.platform) == ("one", None, HERE.digest, "linux")
    assert (child.parent, child.base) == ("one", HERE.digest)
    assert parent.wheels == (big.wheel, small.wheel)
    assert child.wheels == above.wheels
    assert 5000 < parent.size < 6000
    assert 3000 < child.size < 4000, "what is linked is its parent's"
    assert abs((parent.used - begun).total_seconds()) < 600


def test_what_must_be_installed_is_that_of_the_whole_chain(environments):
    one, two = step("one", None, wheel("b", 1), wheel("a", 1)), step("two", "one", wheel("aa", 1, "2.0+xpu"))
    make(environments, one)
    assert environments.locked(one) == ("a==1.0", "b==1.0")
    make(environments, two)
    assert environments.locked(two) == ("a==1.0", "aa==2.0+xpu", "b==1.0")
    assert environments.locked(step("three", "two")) == environments.locked(two)


def test_use_moves_the_time(environments):
    make(environments, step("one"))
    make(environments, step("two"))
    for key in ("one", "two"):
        os.utime(environments.directory(key) / MARKER, (10**9, 10**9))
    past = datetime.fromtimestamp(10**9, UTC)
    assert {held.used for held in environments.held().values()} == {past}
    environments.touch("one")
    held = environments.held()
    assert held["one"].used > past
    assert held["two"].used == past


@pytest.mark.parametrize("trouble", [OSError, KeyboardInterrupt])
def test_half_of_one_never_stays(environments, trouble):
    directory = environments.directory("one")

    def fails():
        with environments.making(step("one")) as wanted:
            assert wanted
            directory.mkdir()
            (directory / "half").touch()
            raise trouble

    with pytest.raises(trouble):
        fails()
    assert not directory.exists()
    assert not environments.ready("one")


def test_what_a_crash_left_does_not_count_and_is_begun_anew(environments):
    left = environments.directory("one")
    left.mkdir(parents=True)
    (left / "half").touch()
    (left / f".{MARKER}.tmp").write_text("{")
    assert not environments.ready("one")
    assert environments.held() == {}
    make(environments, step("one"), data="x")
    assert {path.name for path in left.iterdir()} == {"data", "locked.txt", MARKER}


def test_what_is_there_is_not_made_again(environments):
    make(environments, step("one"), data="x")
    with environments.making(step("one")) as wanted:
        assert not wanted
    assert (environments.directory("one") / "data").exists()


DAMAGED = ["", "{", "[]", "null", "{}", '{"parent": null}', '"text"', "\0"]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_marker_hides_no_other(environments, text):
    make(environments, step("one"))
    make(environments, step("two"))
    (environments.directory("one") / MARKER).write_text(text)
    assert set(environments.held()) == {"two"}
    environments.discard("one")
    assert not environments.directory("one").exists()


@pytest.mark.parametrize("field", ["parent", "base", "platform", "wheels", "size"])
def test_a_marker_of_another_version_is_not_held(environments, field):
    make(environments, step("one", None, wheel("a", 1)))
    marker = environments.directory("one") / MARKER
    whole = json.loads(marker.read_text())
    marker.write_text(json.dumps({name: value for name, value in whole.items() if name != field}))
    assert environments.held() == {}
    marker.write_text(json.dumps(whole))
    assert set(environments.held()) == {"one"}


def test_discard_keeps_what_others_stand_on(environments):
    for key, parent in (("one", None), ("two", "one"), ("three", "two"), ("four", None)):
        make(environments, step(key, parent), **{key: "x"})
    for key in ("one", "two", "one"):
        environments.discard(key)
        assert set(environments.held()) == {"one", "two", "three", "four"}
    assert (environments.directory("one") / "one").exists()
    for key in ("three", "two", "one"):
        environments.discard(key)
        assert not environments.directory(key).exists()
    assert set(environments.held()) == {"four"}


def test_two_threads_make_one_environment(environments):
    """Whoever comes second waits, and finds it made."""
    inside, second_waits, made = threading.Event(), threading.Event(), []

    def first():
        with environments.making(step("one")) as wanted:
            made.append(wanted)
            environments.directory("one").mkdir()
            inside.set()
            second_waits.wait(0.3)
            assert not second_waits.is_set(), "the second came in"

    def second():
        inside.wait(10)
        with environments.making(step("one")) as wanted:
            second_waits.set()
            made.append(wanted)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result(30)
    assert made == [True, False]


def test_an_environment_that_cannot_be_made_is_the_next_ones_turn(environments):
    def fails():
        with environments.making(step("one")):
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - our own
        fails()
    make(environments, step("one"), data="x")
    assert environments.ready("one")


ENTRY = "[console_scripts]\ntool = tool:main\n"
TOOL = "import sys, helper\ndef main(): print(sys.prefix, helper.__file__)\n"


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """An environment with a console script, and one on top of it that another wheel was added to."""
    directory = tmp_path_factory.mktemp("scripts")
    house = Wheelhouse(directory / "house")
    tool = house.add("tool", "1.0", {"tool.py": TOOL, "tool-1.0.dist-info/entry_points.txt": ENTRY})
    helper, other = house.add("helper", "1.0"), house.add("other", "1.0")
    runtime = VenvRuntime(directory / "cache", wheels(directory), payload=payload(directory / "payload"))
    base = runtime.base(BASE, quiet)
    below = step("one", None, distribution(tool), distribution(helper), base=base)
    for made in (below, step("two", "one", distribution(other), base=base)):
        runtime.prepare(made, Limits(), quiet, threading.Event())
    return runtime, directory / "cache/venv/environments"


@pytest.mark.parametrize("key", ["one", "two"])
def test_a_script_runs_in_the_environment_it_is_called_in(chain, key):
    _, root = chain
    done = subprocess.run([root / key / "bin/tool"], capture_output=True, text=True, check=True, env={})
    prefix, helper = done.stdout.split()
    assert prefix == str(root / key)
    assert helper.startswith(f"{root / key}/lib/")


def test_a_child_needs_nothing_of_its_parents_directory(chain):
    _, root = chain
    aside = root.parent / "aside"
    (root / "one").rename(aside)
    try:
        done = subprocess.run([root / "two/bin/tool"], capture_output=True, text=True, check=True, env={})
        assert done.stdout.split()[0] == str(root / "two")
    finally:
        aside.rename(root / "one")


def test_uv_locks_siblings_apart(chain):
    _, root = chain
    assert (root / "one/.lock").stat().st_ino != (root / "two/.lock").stat().st_ino
