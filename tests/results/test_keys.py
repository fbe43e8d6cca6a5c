"""A result is used again exactly where everything that could change it is the same."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.errors import ConfigError
from orchestrator.model import Cell, Device, Limits, Lock, Matrix, Package
from orchestrator.results import ReuseKeys
from orchestrator.versions import SpecifierSet, Version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROBE = "test_a.py::test_one"
CELL = Cell(
    id="cell",
    stack="s",
    device=Device.CPU,
    python="3.11",
    versions={"torch": Version("2.6.0")},
    requires={"torch": SpecifierSet("==2.6.0")},
)


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    probes = tmp_path / "probes"
    probes.mkdir()
    for name in ("test_a.py", "test_b.py", "conftest.py", "support.py", "pytest.ini"):
        (probes / name).write_text(f"# {name}")
    torch = Package(name="torch", distribution="torch", module="torch")
    return Matrix(
        path=tmp_path / "matrix.yaml",
        probes=probes,
        images=tmp_path,
        packages={"torch": torch},
        indexes={},
        stacks={},
        issues={},
        bases={},
        limits=Limits(),
    )


def key(matrix: Matrix, cell: Cell = CELL, runner: Callable[[str], str] = str, probe: str = PROBE) -> str:
    return ReuseKeys(matrix, runner=runner).probes(cell, [probe])[probe]


def test_the_key_is_the_same_for_the_same_thing_elsewhere(matrix: Matrix, tmp_path: Path) -> None:
    moved = (tmp_path / "probes").rename(tmp_path / "moved")
    before = key(dataclasses.replace(matrix, probes=moved))
    assert before == key(dataclasses.replace(matrix, probes=moved.rename(tmp_path / "again")))
    assert len(before) == 64


CHANGES: dict[str, Callable[[Matrix], Any]] = {
    "its own code": lambda matrix: (matrix.probes / "test_a.py").write_text("x"),
    "a fixture": lambda matrix: (matrix.probes / "conftest.py").write_text("x"),
    "a helper": lambda matrix: (matrix.probes / "support.py").write_text("x"),
    "a new helper": lambda matrix: (matrix.probes / "more.py").write_text("x"),
    "pytest's settings": lambda matrix: (matrix.probes / "pytest.ini").write_text("x"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_file_changes_the_key(matrix: Matrix, change: Callable[[Matrix], Any]) -> None:
    before = key(matrix)
    change(matrix)
    assert key(matrix) != before


def test_other_probes_do_not(matrix: Matrix) -> None:
    before = key(matrix)
    (matrix.probes / "test_b.py").write_text("x")
    (matrix.probes / "notes.md").write_text("x")
    assert key(matrix) == before
    assert key(matrix, probe="test_a.py::test_two") != before


def test_settings_that_a_probe_can_feel_change_the_key(matrix: Matrix) -> None:
    variants = [
        key(matrix),
        key(matrix, runner=lambda python: f"other {python}"),
        key(matrix, dataclasses.replace(CELL, device=Device.XPU)),
        key(matrix, dataclasses.replace(CELL, python="3.12")),
        key(dataclasses.replace(matrix, environment={"OMP_NUM_THREADS": "1"})),
        key(dataclasses.replace(matrix, limits=Limits(probe_timeout=7))),
        key(dataclasses.replace(matrix, limits=Limits(memory=7))),
    ]
    assert len(set(variants)) == len(variants)


def test_keys_are_those_of_the_cell_however_many_were_asked_for_before(matrix: Matrix) -> None:
    numpy = Package(name="numpy", distribution="numpy", module="numpy")
    matrix = dataclasses.replace(matrix, packages={**matrix.packages, "numpy": numpy})
    cells = [
        dataclasses.replace(CELL, python=python, device=device, requires=dict.fromkeys(packages, SpecifierSet()))
        for python in ("3.10", "3.11")
        for device in (Device.CPU, Device.XPU)
        for packages in (("torch",), ("torch", "numpy"), ("numpy", "torch"))
    ]
    shared = ReuseKeys(matrix, runner=str)
    found = [shared.probes(cell, [PROBE])[PROBE] for cell in cells + cells]
    assert found == [key(matrix, cell) for cell in cells + cells]
    assert len(set(found)) == len(cells)


def test_the_device_that_a_cell_computes_on_counts(matrix: Matrix) -> None:
    cards = {"cell": "card A", "other": "card B"}
    shared = ReuseKeys(matrix, runner=str, fingerprint=lambda cell: cards[cell.id])
    assert shared.probes(CELL, [PROBE]) != shared.probes(dataclasses.replace(CELL, id="other"), [PROBE])


def test_settings_that_it_cannot_feel_do_not(matrix: Matrix) -> None:
    assert key(matrix) == key(dataclasses.replace(matrix, limits=Limits(disk=7, build_timeout=7)))
    assert key(matrix) == key(matrix, dataclasses.replace(CELL, id="renamed", stack="renamed"))


def test_the_environment_is_the_lock_on_its_base(matrix: Matrix) -> None:
    keys = ReuseKeys(matrix, runner=str)
    lock = Lock(python="3.11", platform="linux", as_of=None, distributions=())
    other = dataclasses.replace(lock, python="3.12")
    assert len({keys.environment(lock, "a"), keys.environment(lock, "b"), keys.environment(other, "a")}) == 3
    assert keys.environment(lock, "a") == ReuseKeys(matrix, runner=str).environment(
        dataclasses.replace(lock, warnings=("w",)), "a"
    )


def test_a_probe_without_its_file(matrix: Matrix) -> None:
    with pytest.raises(ConfigError, match=r"test_gone\.py"):
        key(matrix, probe="test_gone.py::test_one")
