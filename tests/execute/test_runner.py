"""The pinned runner: complete, the same for everybody, installed once."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute import runner
from orchestrator.execute.runner import PAYLOAD, prepare_runner, requirements, runner_digest

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {
    "pytest",
    "pytest-xdist",
    "pytest-timeout",
    "pytest-reportlog",
    "execnet",
    "pluggy",
    "iniconfig",
    "packaging",
}


@pytest.mark.parametrize("path", sorted(PAYLOAD.glob("runner-*.txt")), ids=lambda path: path.stem)
def test_every_requirement_is_exact_and_hashed(path: Path) -> None:
    text = re.sub(r"\\\n", "", path.read_text())
    entries = [line for line in text.splitlines() if line and not line.startswith("#")]
    names = set()
    for entry in entries:
        match = re.match(r"([a-z-]+)==[0-9.]+(?: ; .*?)?((?:\s+--hash=sha256:[0-9a-f]{64})+)$", entry)
        assert match is not None, entry
        names.add(match[1])
    assert names >= NAMES


@pytest.mark.parametrize(
    ("python", "name"),
    [
        ("3.8", "py38"),
        ("3.9", "py39"),
        ("3.9.18", "py39"),
        ("3.10", "py310"),
        ("3.11", "py310"),
        ("3.15", "py310"),
    ],
)
def test_each_python_has_its_requirements(python: str, name: str) -> None:
    assert requirements(python).name == f"runner-{name}.txt"
    assert requirements(python).is_file()


def test_a_python_without_a_runner_is_an_error_with_a_hint() -> None:
    with pytest.raises(EnvironmentUnusableError, match=r"Python 3\.7") as caught:
        requirements("3.7")
    assert caught.value.hint is not None


def test_the_digest_follows_the_pins_and_the_payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runner_digest("3.9") != runner_digest("3.10")
    assert runner_digest("3.11") == runner_digest("3.11.7")
    before = runner_digest("3.11")
    copy = tmp_path / "payload"
    copy.mkdir()
    for path in PAYLOAD.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(runner, "PAYLOAD", copy)
    assert runner_digest("3.11") == before
    (copy / "launch.py").write_text("changed")
    assert runner_digest("3.11") != before


def test_it_is_installed_once_by_whoever_comes_first(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        directories = set(pool.map(lambda _: prepare_runner(tmp_path, "3.8"), range(4)))
    (directory,) = directories
    assert (directory / "pytest").is_dir()
    assert (directory / "tomli").is_dir()
    # Nothing that only runs on this machine, and no half-made directory beside it.
    assert not [*directory.rglob("*.so"), *directory.rglob("*.pyc")]
    assert [path.name for path in directory.parent.iterdir() if path.is_dir()] == [directory.name]


def test_an_index_that_does_not_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(EnvironmentUnusableError, match=r"cannot install the pinned pytest for Python 3\.11"):
        prepare_runner(tmp_path, "3.11")
    assert not [path for path in (tmp_path / "runner").iterdir() if path.is_dir()]


def test_the_payload_leans_on_nothing_of_the_orchestrator() -> None:
    for path in PAYLOAD.glob("*.py"):
        assert not re.search(r"^\s*(?:import|from) orchestrator\b", path.read_text(), re.MULTILINE)
