"""Before any probe runs: is installed what was locked, and does it import?"""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import os
import runpy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.execute.runner import PAYLOAD
from orchestrator.model import Import, Outcome
from orchestrator.results import imports, runtime_versions
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from conftest import Session

spelling = runpy.run_path(str(PAYLOAD / "launch.py"))["spelling"]

PROBE = {"test_a.py": "def test_it(): pass"}
NODEID = "test_a.py::test_it"


@pytest.fixture
def importing(session: Callable[..., Session], tmp_path: Path) -> Callable[..., Session]:
    """Return what makes a session in which the given packages can be imported."""

    def make(packages: Mapping[str, str], **job: Any) -> Session:
        for name, text in packages.items():
            path = tmp_path / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        modules = [
            [name.split("/")[0].removesuffix(".py").upper(), name.split("/")[0].removesuffix(".py")]
            for name in packages
        ]
        unique = [list(pair) for pair in dict.fromkeys(map(tuple, modules))]
        return session(PROBE, [NODEID], modules=unique, environment={"PYTHONPATH": str(tmp_path / "site")}, **job)

    return make


def test_the_libraries_of_a_device_are_recorded(
    importing: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = tmp_path / "bin/dpkg-query"
    query.parent.mkdir()
    # As the real one: what it does not know it complains about, what was removed it still knows.
    answer = r"installed\tlibze1\t1.20.2\nnot-installed\tlevel-zero\t\nconfig-files\tlibigc1\t1.0\n"
    query.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nprintf "{answer}"\necho none >&2\nexit 1\n')
    query.chmod(0o755)
    monkeypatch.setenv("PATH", f"{query.parent}:{os.environ['PATH']}")
    made = importing(
        {
            "torchlike/__init__.py": "",
            "torchlike/version.py": "xpu = '20250004'\ncuda = None",
            "plain.py": "",
        },
        system_packages=["libze1", "level-zero", "libigc1"],
        toolkit="xpu",
    )
    assert runtime_versions(made.run()) == {"libze1": "1.20.2", "torchlike.version.xpu": "20250004"}
    assert (tmp_path / "asked").read_text().split()[-3:] == ["libze1", "level-zero", "libigc1"]


def test_nothing_is_looked_up_for_a_processor(importing: Callable[..., Session]) -> None:
    made = importing({"torchlike/__init__.py": "", "torchlike/version.py": "cuda = '12.6'"})
    assert runtime_versions(made.run()) == {}


def test_versions_and_commits_are_recorded(importing: Callable[..., Session]) -> None:
    made = importing(
        {
            "good/__init__.py": "__version__ = '2.6.0+xpu'",
            "good/version.py": "git_version = '1eba9b3'",
            "torch_xla/__init__.py": "print('noise on import')\n__version__ = '2.6.0'",
            "torch_xla/version.py": "__torch_gitrev__ = 'torchs'\n__xla_gitrev__ = 'xlas'",
            "plain.py": "",
        }
    )
    raw = made.run()
    assert imports(raw) == (
        Import(package="GOOD", version="2.6.0+xpu", git_version="1eba9b3"),
        Import(package="TORCH_XLA", version="2.6.0", git_version="xlas"),
        Import(package="PLAIN", version=None, git_version=None),
    )
    assert made.results(raw)[NODEID].outcome is Outcome.PASS


BROKEN = {
    "an exception": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    # As IPEX does it when torch is of another version.
    "leaving": (
        "import os\nprint('ERROR! needs torch')\nos._exit(127)",
        "the process exited with status 127 during import: ERROR! needs torch",
    ),
    "leaving politely": (
        "print('ERROR! needs torch')\nexit(127)",
        "the process exited with status 127 during import: ERROR! needs torch",
    ),
    "a crash": ("import ctypes; ctypes.string_at(0)", "SIGSEGV during import"),
    "a hang": ("import time; time.sleep(60)", "the import took more than 2 s"),
    "a hang with a child": (
        "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)",
        "the import took more than 2 s",
    ),
}


@pytest.mark.parametrize(("text", "signature"), BROKEN.values(), ids=BROKEN)
def test_a_package_that_does_not_import_stops_the_session(
    importing: Callable[..., Session], text: str, signature: str
) -> None:
    made = importing({"broken.py": text, "good.py": ""}, import_timeout=2)
    raw = made.run()
    result = made.results(raw)[NODEID]
    assert (result.outcome, result.signature) == (Outcome.INCOMPATIBLE, signature)
    assert raw.exit_code == 3
    assert json.loads(raw.artifacts["session.json"]) == {
        "attempt": "cell-1",
        "stage": "preflight",
        "pytest_exit": None,
    }
    assert "junit.xml" not in raw.artifacts
    # The others are tried all the same: which package breaks is part of the answer.
    assert [seen.error is None for seen in imports(raw)] == [False, True]


def test_the_output_of_an_import_is_bounded(importing: Callable[..., Session]) -> None:
    raw = importing({"loud.py": "print('x' * 5_000_000)\nimport os; os._exit(1)"}).run()
    assert len(raw.log) < 200_000


def test_what_a_package_does_at_exit_is_not_its_import(importing: Callable[..., Session]) -> None:
    made = importing({"late.py": "import atexit, os; atexit.register(os.abort)"})
    assert made.results()[NODEID].outcome is Outcome.PASS


def test_pins_that_hold(session: Callable[..., Session]) -> None:
    pins = {"Hypothesis": importlib.metadata.version("hypothesis")}
    assert session(PROBE, [NODEID], pins=pins).results()[NODEID].outcome is Outcome.PASS


def test_a_replaced_distribution_stops_the_session(session: Callable[..., Session]) -> None:
    here = importlib.metadata.version("hypothesis")
    made = session(
        PROBE, [NODEID], pins={"hypothesis": "2.6.0+xpu", "not-there": "1.0"}, modules=[["json", "json"]]
    )
    result = made.results()[NODEID]
    assert result.outcome is Outcome.BUILD_FAILED
    assert result.message == (
        f"hypothesis replaced: wanted 2.6.0+xpu, got {here}; not-there replaced: wanted 1.0, got nothing"
    )


SPELLINGS = [
    ("2.1.0.post0+cxx11.abi", "2.1.0.post0+cxx11-abi"),
    ("1.0.0b1", "1.0-beta.1"),
    ("2.9.0rc1", "2.9.0c1"),
    ("2.0.0a0", "v2.0.0.alpha"),
    ("1.2.dev3", "1.2-DEV3"),
    ("3.0", "3"),
]


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_spellings_of_one_version_are_equal(one: str, other: str) -> None:
    assert Version(one) == Version(other)
    assert spelling(one) == spelling(other)


releases = st.lists(st.integers(0, 11), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
versions = st.builds(
    "{}{}{}{}{}".format,
    releases,
    st.sampled_from(["", "a0", "b2", "rc1", "-alpha1", ".c1"]),
    st.sampled_from(["", ".post0", "-post1"]),
    st.sampled_from(["", ".dev0", "_dev12"]),
    st.sampled_from(["", "+xpu", "+cpu", "+cxx11.abi", "+cxx11-abi"]),
)


@given(st.lists(versions, min_size=2, max_size=6))
def test_what_counts_as_equal_is_what_packaging_says(texts: list[str]) -> None:
    for one, other in itertools.combinations([*texts, *(str(Version(text)) for text in texts)], 2):
        assert (spelling(one) == spelling(other)) == (Version(one) == Version(other)), (one, other)
