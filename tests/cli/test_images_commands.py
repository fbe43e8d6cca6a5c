"""`plan`, `build`, `images` and `prune` as users meet them, on environments of a small matrix."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wheelhouse import Wheelhouse

ROOT = Path(__file__).parents[2]
MB = 10**6
DAY = 24 * 3600

MATRIX = """\
version: 1
probes: probes
indexes: {{house: "{index}"}}
bases: {{"3.11": {{image: "python:3.11-slim", debian: bookworm}}}}
packages:
  tinylib: {{indexes: {{cpu: [house]}}}}
  tinydep: {{indexes: {{cpu: [house]}}}}
stacks:
  tiny:
    device: cpu
    axes: {{tinylib: ["1.0", "1.1", "1.2", "1.3"{more}]}}
    companions: {{tinydep: {{follows: tinylib, ranges: {{">=0": "1.0"}}}}}}
issues:
  all: {{title: all, subject: {{tiny: tinylib}}, probes: ["test_tiny.py::test_it"]}}
"""

LEAVES = ("1.0", "1.1", "1.2")
BROKEN = {"tinylib-2.0.dist-info/entry_points.txt": "[console_scripts]\ntool = no such thing\n"}


def cell(version):
    return f"tiny-py3.11-tinylib{version}"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Three releases that share a large wheel, one that no lock has, and one that cannot be installed."""
    directory = tmp_path_factory.mktemp("project")
    house = Wheelhouse(directory / "house")
    house.add("tinydep", "1.0", {"tinydep/__init__.py": "", "tinydep/data": "x" * 40 * MB})
    for version in LEAVES:
        house.add("tinylib", version, {"tinylib/__init__.py": "", "tinylib/data": version[-1] * 5 * MB})
    house.add("tinylib", "1.3", requires=("tinydep>=2",))
    house.add("tinylib", "2.0", {"tinylib/__init__.py": "", **BROKEN})
    (directory / "probes").mkdir()
    (directory / "probes/test_tiny.py").write_text("def test_it():\n    import tinylib\n", encoding="utf-8")
    for name, more in (("matrix.yaml", ""), ("broken.yaml", ', "2.0"')):
        (directory / name).write_text(MATRIX.format(index=house.url, more=more), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def command(project):
    """Run a command with the venv runtime on a store; in copy mode what is stored does not depend on caches."""

    def run(name, *arguments, store, **environment):
        inherited = {"PYTHONPATH": str(ROOT), "UV_CACHE_DIR": str(project / "uv"), "UV_LINK_MODE": "copy"}
        return subprocess.run(
            [sys.executable, "-m", "orchestrator", name, *arguments, "--runtime", "venv", "--store", str(store)],
            cwd=project,
            env={**os.environ, **inherited, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def first_build(project, command):
    store = project / "store"
    return store, command("build", store=store)


@pytest.fixture
def store(first_build, tmp_path):
    """A store of one's own in which everything is built."""
    built, done = first_build
    assert done.returncode == 0, done.stderr
    return shutil.copytree(built, tmp_path / "store", symlinks=True)


def environments(store):
    return store / "cache/venv/environments"


def markers(store):
    return {path.parent.name: path for path in environments(store).glob("*/orchestrator-ready.json")}


@pytest.fixture
def asked(command):
    """Run a command that has to end well, and read what it says as JSON."""

    def ask(name, *arguments, store):
        done = command(name, *arguments, "--format", "json", store=store)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


@pytest.fixture
def by_wheel(asked):
    """Tell the key of every environment by the wheel it adds."""

    def keys(store):
        images = asked("images", store=store)["images"]
        return {f"{w['name']} {w['version']}": image["key"] for image in images for w in image["wheels"]}

    return keys


def aged(store, key, days):
    then = time.time() - days * DAY
    os.utime(markers(store)[key], (then, then))


@pytest.fixture
def old(store, by_wheel):
    """The same store after some days: 1.1 was used longest ago, then 1.0; what they share is older still."""
    keys = by_wheel(store)
    for name, days in (("tinydep 1.0", 9), ("tinylib 1.0", 2), ("tinylib 1.1", 3), ("tinylib 1.2", 1)):
        aged(store, keys[name], days)
    return store


# plan


def test_plan_of_which_nothing_is_there(command, tmp_path):
    done = command("plan", store=tmp_path / "store")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["layer", "adds", "there", "wheels", "on", "disk", "cells"]
    root, *leaves = lines[2:6]
    assert root.split()[1:] == ["tinydep", "1.0", "40", "MB", "~", "88", "MB"]
    assert sorted(line.split()[1:] for line in leaves) == [
        ["|", "tinylib", version, "5", "MB", "~", "11", "MB", cell(version)] for version in LEAVES
    ]
    assert lines[7] == "4 layers for 3 cells: about 121 MB on disk, 297 MB if nothing were shared"
    assert lines[8] == "wheels in layers: 55 MB; every plan needs at least 55 MB"
    assert lines[9].startswith("4 to build: at most 55 MB to download, about ")
    assert lines[10].startswith(f"not possible here: {cell('1.3')}: ")
    assert "tinydep>=2" in lines[10]
    assert markers(tmp_path / "store") == {}


def test_plan_as_json(asked, tmp_path):
    plan = asked("plan", store=tmp_path)
    steps = {step["key"]: step for step in plan["steps"]}
    assert len(steps) == 4
    root, *leaves = plan["steps"]
    assert (root["parent"], root["cells"]) == (None, [])
    assert [wheel["name"] for wheel in root["wheels"]] == ["tinydep"]
    assert {leaf["parent"] for leaf in leaves} == {root["key"]}
    assert sorted(name for leaf in leaves for name in leaf["cells"]) == [cell(version) for version in LEAVES]
    assert not any(step["ready"] for step in plan["steps"])
    total = sum(wheel["size"] for step in plan["steps"] for wheel in step["wheels"])
    assert plan["wheels"] == plan["least_wheels"] == plan["download"] == total
    assert plan["stored"] == sum(step["stored"] for step in plan["steps"])
    assert plan["apart"] == sum(leaf["stored"] + root["stored"] for leaf in leaves)
    assert plan["seconds"] > 0
    assert list(plan["impossible"]) == [cell("1.3")]
    assert plan["format"] == 1


def test_plan_of_some_cells_is_a_part_of_the_whole_plan(asked, tmp_path):
    whole = asked("plan", store=tmp_path)["steps"]
    part = asked("plan", "-k", "tinylib==1.1", store=tmp_path)
    assert [step["key"] for step in part["steps"]] == [
        step["key"] for step in whole if not step["cells"] or step["cells"] == [cell("1.1")]
    ]
    assert part["impossible"] == {}


def test_plan_of_which_all_is_there(asked, command, store):
    plan = asked("plan", store=store)
    assert all(step["ready"] for step in plan["steps"])
    assert (plan["download"], plan["seconds"]) == (0, 0.0)
    images = asked("images", store=store)["images"]
    assert {step["key"]: step["stored"] for step in plan["steps"]} == {
        image["key"]: image["unique"] for image in images
    }
    lines = command("plan", store=store).stdout.splitlines()
    assert "everything is there" in lines
    assert all("  yes  " in line for line in lines[2:6])
    assert "~" not in "".join(lines[2:6])


def test_plan_of_which_some_is_there(asked, store, by_wheel):
    gone = by_wheel(store)["tinylib 1.1"]
    shutil.rmtree(environments(store) / gone)
    plan = asked("plan", store=store)
    assert [step["key"] for step in plan["steps"] if not step["ready"]] == [gone]
    assert 5 * MB < plan["download"] < 6 * MB


@pytest.mark.parametrize("name", ["plan", "build"])
@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("tinylib>9", "orchestrator list --all"),
        ("tinylib==1.3", "none of the 1 selected cells can be built here"),
    ],
)
def test_nothing_selected(command, tmp_path, name, expression, said):
    done = command(name, "-k", expression, store=tmp_path)
    assert done.returncode == 3
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert markers(tmp_path) == {}


# build


def test_build_makes_every_environment_and_runs_nothing(first_build):
    store, done = first_build
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 of 4 selected cells have their environment\n"
    assert f"not possible here: {cell('1.3')}: " in done.stderr
    assert len(markers(store)) == 4
    assert not (store / "attempts").exists()
    assert len(json.loads((store / "cache/pace.json").read_text())["venv"]) == 4


def test_what_was_built_is_kept(command, store):
    before = {key: path.stat().st_ino for key, path in markers(store).items()}
    done = command("build", store=store)
    assert (done.returncode, done.stdout) == (0, "3 of 4 selected cells have their environment\n")
    assert {key: path.stat().st_ino for key, path in markers(store).items()} == before


def test_build_of_one_cell(command, store, by_wheel, tmp_path):
    keys = by_wheel(store)
    done = command("build", "-k", "tinylib==1.1", store=tmp_path / "new")
    assert (done.returncode, done.stdout) == (0, "1 of 1 selected cells have their environment\n")
    assert set(markers(tmp_path / "new")) == {keys["tinydep 1.0"], keys["tinylib 1.1"]}


def test_build_with_a_broken_wheel(command, tmp_path):
    done = command("build", "broken.yaml", "--jobs", "1", store=tmp_path)
    assert done.returncode == 4, done.stderr
    assert done.stdout == "3 of 5 selected cells have their environment\n"
    assert len(markers(tmp_path)) == 4
    (at,) = (place for place, line in enumerate(done.stderr.splitlines()) if line.startswith("tinylib 2.0 ["))
    said, *log = done.stderr.splitlines()[at:]
    assert "tinylib-2.0-py3-none-any.whl" in said
    assert any("no such thing" in line for line in log), "the log's end follows"
    assert "Traceback" not in done.stderr


# images


def test_images_where_nothing_is(asked, command, tmp_path):
    done = command("images", store=tmp_path / "store")
    assert (done.returncode, done.stdout) == (0, "0 images hold 0 kB; 0 kB of wheels in the cache\n")
    assert asked("images", store=tmp_path / "store") == {"format": 1, "images": [], "wheel_cache": 0}
    assert list(tmp_path.iterdir()) == []


def test_images_as_a_table(command, old):
    done = command("images", store=old)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["image", "adds", "alone", "stands", "on", "children", "used"]
    rows = [line.split() for line in lines[2:6]]
    assert rows[0][1:] == ["tinydep", "1.0", "40", "MB", "0", "kB", "3", "24", "h", "ago"]
    assert sorted(row[1:] for row in rows[1:]) == [
        ["|", "tinylib", version, "5", "MB", "40", "MB", *used, "ago"]
        for version, used in zip(LEAVES, (["2", "days"], ["3", "days"], ["24", "h"]), strict=True)
    ]
    assert lines[-1] == "4 images hold 55 MB; 0 kB of wheels in the cache"


def test_images_as_json(asked, old):
    root, *leaves = asked("images", store=old)["images"]
    assert set(markers(old)) == {root["key"], *(leaf["key"] for leaf in leaves)}
    assert (root["parent"], root["shared"]) == (None, 0)
    assert 40 * MB < root["unique"] < 41 * MB
    for leaf in leaves:
        assert leaf["parent"] == root["key"]
        assert leaf["base"] == root["base"]
        assert leaf["shared"] == root["unique"]
        assert 5 * MB < leaf["unique"] < 6 * MB
    assert root["used"] == max(leaf["used"] for leaf in leaves), "it is used by what stands on it"


# prune


def dropped(done, word="dropped"):
    """Return what was dropped, in order."""
    return [
        line.removeprefix(f"{word} ").partition(" [")[0]
        for line in done.stdout.splitlines()
        if line.startswith(word)
    ]


def test_prune_wants_to_be_told_what(command, store):
    done = command("prune", store=store)
    assert done.returncode == 2
    assert "say what to drop: --max-disk, --older-than, --all or --wheels" in done.stderr
    assert len(markers(store)) == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--max-disk", "7"), '"7" is not a size'),
        (("--max-disk", "0GB"), '"0GB" is not between'),
        (("--older-than", "7"), '"7" is not an age'),
        (("--older-than", "99999999w"), '"99999999w" is more than'),
    ],
)
def test_prune_with_what_is_no_quantity(command, store, arguments, said):
    done = command("prune", *arguments, store=store)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(markers(store)) == 4


def test_prune_all(asked, command, old):
    dry = command("prune", "--all", "--dry-run", store=old)
    assert dry.returncode == 0, dry.stderr
    order = ["tinylib 1.1", "tinylib 1.0", "tinylib 1.2", "tinydep 1.0"]
    assert dropped(dry, "would drop") == order
    assert "freed" not in dry.stdout
    assert len(markers(old)) == 4, "nothing was dropped"
    done = command("prune", "--all", store=old)
    assert done.returncode == 0, done.stderr
    assert dropped(done) == order
    assert done.stdout.splitlines()[-1] == "55 MB freed"
    assert asked("images", store=old)["images"] == []
    assert [path for path in environments(old).iterdir() if path.suffix != ".lock"] == []


@pytest.mark.parametrize(
    ("limit", "order"),
    [
        ("56MB", []),
        ("51MB", ["tinylib 1.1"]),
        ("46MB", ["tinylib 1.1", "tinylib 1.0"]),
        ("41MB", ["tinylib 1.1", "tinylib 1.0", "tinylib 1.2"]),
        ("1MB", ["tinylib 1.1", "tinylib 1.0", "tinylib 1.2", "tinydep 1.0"]),
    ],
)
def test_prune_until_the_rest_fits(command, old, limit, order):
    done = command("prune", "--max-disk", limit, store=old)
    assert done.returncode == 0, done.stderr
    assert dropped(done) == order
    assert len(markers(old)) == 4 - len(order)


@pytest.mark.parametrize(
    ("age", "order"),
    [
        ("4d", []),
        ("60h", ["tinylib 1.1"]),
        ("1.5d", ["tinylib 1.1", "tinylib 1.0"]),
        ("60m", ["tinylib 1.1", "tinylib 1.0", "tinylib 1.2", "tinydep 1.0"]),
    ],
)
def test_prune_what_was_not_used_for_long(command, old, age, order):
    done = command("prune", "--older-than", age, store=old)
    assert done.returncode == 0, done.stderr
    assert dropped(done) == order
    assert len(markers(old)) == 4 - len(order)


def test_prune_both_ways(command, old):
    done = command("prune", "--older-than", "60h", "--max-disk", "46MB", store=old)
    assert dropped(done) == ["tinylib 1.1", "tinylib 1.0"]


def test_prune_the_wheels(asked, command, store):
    cached = store / "cache/wheels/00" / ("0" * 64) / "some-1.0-py3-none-any.whl"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(bytes(2 * MB))
    assert asked("images", store=store)["wheel_cache"] == 2 * MB
    dry = command("prune", "--wheels", "--dry-run", store=store)
    assert dry.stdout == "would empty the wheel cache, 2 MB\n"
    assert cached.exists()
    done = command("prune", "--wheels", store=store)
    assert done.stdout == "emptied the wheel cache, 2 MB\n2 MB freed\n"
    assert not cached.exists()
    assert len(markers(store)) == 4


def test_what_was_dropped_is_built_again(command, old, by_wheel):
    before = {key: path.stat().st_ino for key, path in markers(old).items()}
    gone = by_wheel(old)["tinylib 1.1"]
    command("prune", "--max-disk", "51MB", store=old)
    assert set(before) - set(markers(old)) == {gone}
    done = command("build", store=old)
    assert done.returncode == 0, done.stderr
    after = {key: path.stat().st_ino for key, path in markers(old).items()}
    assert set(after) == set(before)
    assert {key for key in after if after[key] == before[key]} >= set(before) - {gone}


def test_without_an_engine_the_environments_are_meant(project, first_build):
    """`--runtime auto`, the default."""
    store, _ = first_build
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "images", "--store", str(store), "--format", "json"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DOCKER_HOST": "unix:///nonexistent.sock"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert {image["key"] for image in json.loads(done.stdout)["images"]} == set(markers(store))
