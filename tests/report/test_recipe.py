from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import lettered
from orchestrator.model import CellRow, Pin
from orchestrator.report.recipe import file_names, script
from orchestrator.report.sides import Side

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {"lib": "lib"}
LIB = Pin(name="lib", version="2.0+cpu", index="https://index.example/whl/cpu")
NUMPY = Pin(name="numpy", version="1.26.4")


def side(*pins: Pin, **more: object) -> Side:
    point = lettered.series("b").points[0]
    row = CellRow(cell="c", stack="s", python="3.11", versions={"lib": "1.0", "other": "2.0"})
    return Side(**{"label": "first bad", "point": point, "row": row, "pins": pins, **more})  # type: ignore[arg-type]


def test_everything_is_pinned_from_where_it_came() -> None:
    assert script(side(LIB, NUMPY), NAMES, "lib", ["test_probe.py"]) == [
        "python3.11 -m venv first-bad",
        "first-bad/bin/python -m pip install --no-deps --requirement /dev/stdin <<'PINS'",
        "--extra-index-url https://index.example/whl/cpu",
        "lib==2.0+cpu",
        "numpy==1.26.4",
        "PINS",
        "first-bad/bin/python -m pip install pytest",
        "first-bad/bin/python -m pytest test_probe.py",
    ]


def test_without_an_environment_what_was_under_test() -> None:
    lines = script(side(), NAMES, "lib", ["a.py", "b.py"])
    assert lines[1] == "# What else was installed is not in the report: this is what was under test."
    assert "lib==1.0" in lines
    assert "# other 2.0: what indexes call it is not known" in lines
    assert "--no-deps" not in lines[2]
    assert lines[-2:] == ["first-bad/bin/python -m pytest a.py", "first-bad/bin/python -m pytest b.py"]


def test_a_commit_is_not_looked_for_on_an_index() -> None:
    lines = script(side(LIB, NUMPY, commit="1a2b3c It broke"), NAMES, "lib", [])
    assert "# lib==2.0+cpu was built from a commit" in lines
    assert "# Then lib, built from its commit: 1a2b3c It broke" in lines
    built = lettered.series("g", versions=["0.11.0.dev7+g1a2b3c4d5e6f"]).points[0]
    lines = script(side(LIB, NUMPY, point=built), NAMES, "lib", [])
    assert "# Then lib, built from its commit: 0.11.0.dev7+g1a2b3c4d5e6f" in lines


def test_no_text_becomes_a_command(tmp_path: Path) -> None:
    """The script is run by a shell in which pip and python do nothing."""
    hostile = "x\nPINS\ntouch owned; $(touch owned) `touch owned` '"
    row = CellRow(cell="c", stack="s", python="3; touch owned", versions={})
    pins = (
        Pin(name="--index-url", version="https://evil.example"),
        Pin(name=hostile.replace("\n", " "), version="1"),
        Pin(name="lib", version="1; touch owned", index="https://i.example/ --index-url=x"),
    )
    lines = script(side(*pins, row=row, commit="$(touch owned)"), NAMES, "lib", ["test_probe.py"])
    assert all("\n" not in line for line in lines)
    bodies = lines[lines.index("# also from https://i.example/ --index-url=x") :]
    assert all(line.startswith("#") for line in bodies[: bodies.index("PINS")])
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("python3", "first-bad/bin/python"):
        fake = (bin_ if "/" not in name else tmp_path) / name
        fake.parent.mkdir(parents=True, exist_ok=True)
        fake.write_text('#!/bin/sh\ncat >/dev/null\necho "$@"\n')
        fake.chmod(0o755)
    made = tmp_path / "script.sh"
    made.write_text("\n".join(lines))
    done = subprocess.run(
        ["/bin/sh", "-e", made],
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env={"PATH": f"{bin_}:/usr/bin:/bin"},
        text=True,
        check=True,
        capture_output=True,
    )
    assert done.stdout.splitlines() == [
        "-m venv first-bad",
        "-m pip install --no-deps --requirement /dev/stdin",
        "-m pip install pytest",
        "-m pytest test_probe.py",
    ]
    assert done.stderr == ""
    assert not (tmp_path / "owned").exists()


def test_files_have_names_of_their_own() -> None:
    assert file_names(["a/test_x.py::test_y"]) == {"a/test_x.py::test_y": "test_probe.py"}
    found = file_names(["a/test_x.py::test_y", "b/test_x.py::test_y", "test_z.py::A::test_y"])
    assert list(found.values()) == ["test_x_test_y.py", "test_x_test_y_2.py", "test_z_test_y.py"]
    assert replace(side(), row=None).python == "3"
