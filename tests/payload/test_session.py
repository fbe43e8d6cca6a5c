"""What really happens to probes that pass, fail, die, hang, leave and flood."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from typing import TYPE_CHECKING

from orchestrator.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Session

DEATHS = textwrap.dedent("""
    import ctypes, os, signal, sys, time
    import pytest

    def test_passes(record_property):
        record_property("mae", 3.7e-06)

    def test_leaves():
        os._exit(0)

    def test_segfault():
        print("last words", flush=True)
        ctypes.string_at(0)

    def test_abort():
        os.abort()

    def test_killed():
        os.kill(os.getpid(), signal.SIGKILL)

    def test_hangs_in_c():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        time.sleep(60)

    def test_slow():
        time.sleep(60)

    def test_ends_the_session():
        pytest.exit("enough", returncode=0)

    def test_exits():
        sys.exit(0)

    def test_fails():
        assert 1.5 <= 1, "values differ: mean abs error 1.5"

    def test_comes_last():
        pass
""")


def test_each_death_costs_one_probe(session: Callable[..., Session]) -> None:
    expected = {
        "passes": (Outcome.PASS, None),
        "leaves": (Outcome.ERROR, "the process exited with status 0 while the probe ran"),
        "segfault": (Outcome.CRASH, "SIGSEGV"),
        "abort": (Outcome.CRASH, "SIGABRT"),
        "killed": (Outcome.CRASH, "SIGKILL"),
        "hangs_in_c": (Outcome.TIMEOUT, "hung: the process was killed at the hard deadline"),
        "slow": (Outcome.TIMEOUT, "timeout in call"),
        "ends_the_session": (Outcome.ERROR, "RuntimeError: the probe called pytest.exit: enough"),
        "exits": (Outcome.ERROR, "SystemExit: 0"),
        "fails": (Outcome.FAIL, "AssertionError: values differ: mean abs error N"),
        "comes_last": (Outcome.PASS, None),
    }
    made = session({"test_a.py": DEATHS}, [f"test_a.py::test_{name}" for name in expected], probe_timeout=1)
    results = made.results()
    found = {name: results[f"test_a.py::test_{name}"] for name in expected}
    assert {name: (result.outcome, result.signature) for name, result in found.items()} == expected
    assert found["passes"].metrics == {"mae": 3.7e-06}
    assert "last words" in (found["segfault"].message or "")
    assert "in test_segfault" in (found["segfault"].message or "")
    assert "in test_hangs_in_c" in (found["hangs_in_c"].message or "")
    assert 2.0 <= (found["hangs_in_c"].duration or 0) < 6


def test_modules_that_do_not_import_cost_only_themselves(session: Callable[..., Session]) -> None:
    files = {
        "test_a_lethal.py": "import ctypes; ctypes.string_at(0)\ndef test_it(): pass",
        "test_b_leaving.py": "import os; os._exit(0)\ndef test_it(): pass",
        "test_c_broken.py": "import no_such_module\ndef test_it(): pass",
        "test_d_absent.py": "import pytest; pytest.skip('absent: x', allow_module_level=True)",
        "sub/test_e_good.py": "def test_it(): pass",
    }
    nodeids = [f"{name}::test_it" for name in files]
    results = session(files, [*nodeids, "sub/test_e_good.py::test_gone", "test_gone.py::test_it"]).results()
    assert [(result.outcome, result.signature) for result in results.values()] == [
        (Outcome.ERROR, "killed by signal 11 while test_a_lethal.py was imported"),
        (Outcome.ERROR, "the process exited with status 0 while test_b_leaving.py was imported"),
        (Outcome.ERROR, "ModuleNotFoundError: No module named 'no_such_module'"),
        (Outcome.ABSENT, "x"),
        (Outcome.PASS, None),
        (Outcome.ERROR, "not collected: sub/test_e_good.py has no such probe"),
        (Outcome.ERROR, "not collected: test_gone.py has no such probe"),
    ]


KINDS = textwrap.dedent("""
    import pytest

    class NumberLike:
        def __float__(self):
            return 0.25

    @pytest.fixture
    def control():
        assert False, "control: float32 is broken"

    @pytest.fixture
    def late():
        yield
        raise ValueError("late")

    @pytest.mark.parametrize("n", [1, 2, "a::b", "x]y"])
    def test_kinds(n):
        assert n != 2

    def test_control(control):
        pass

    def test_late(late):
        pass

    def test_fails_and_late(late):
        assert False, "first"

    def test_absent():
        pytest.skip("absent: torch.foo")

    def test_no_device():
        pytest.skip("no-device: xpu")

    def test_records(record_property):
        record_property("mae", NumberLike())
        record_property("name", object())
        record_property("nan", float("nan"))

    def test_huge_message():
        raise RuntimeError("first line\\n" + "x" * 5_000_000)

    def test_not_asked_for():
        raise AssertionError
""")


def test_phases_skips_and_properties(session: Callable[..., Session]) -> None:
    expected = {
        "kinds": (Outcome.FAIL, "AssertionError: assert 2 != 2"),
        "control": (Outcome.ERROR, "AssertionError: control: float32 is broken"),
        "late": (Outcome.ERROR, "ValueError: late"),
        "fails_and_late": (Outcome.FAIL, "AssertionError: first"),
        "absent": (Outcome.ABSENT, "torch.foo"),
        "no_device": (Outcome.NO_DEVICE, "xpu"),
        "records": (Outcome.PASS, None),
        "huge_message": (Outcome.FAIL, "RuntimeError: first line"),
    }
    made = session({"test_a.py": KINDS}, [f"test_a.py::test_{name}" for name in expected])
    raw = made.run()
    results = made.results(raw)
    found = {name: results[f"test_a.py::test_{name}"] for name in expected}
    assert {name: (result.outcome, result.signature) for name, result in found.items()} == expected
    assert set(found["records"].metrics) == {"mae", "nan"}
    assert found["records"].metrics["mae"] == 0.25
    assert sum(map(len, raw.artifacts.values())) < 1_000_000
    assert b"test_not_asked_for" not in raw.artifacts["junit.xml"]


def test_a_flood_of_output_goes_to_the_log_and_nowhere_else(session: Callable[..., Session]) -> None:
    flood = "import os\ndef test_flood():\n    for _ in range(400): os.write(1, b'x' * 100_000)\n    print('\\0')"
    made = session({"test_a.py": flood}, ["test_a.py::test_flood"])
    raw = made.run()
    assert made.results(raw)["test_a.py::test_flood"].outcome is Outcome.PASS
    assert len(raw.log) > 40_000_000
    assert sum(map(len, raw.artifacts.values())) < 100_000


def test_a_worker_that_never_comes_up_ends_the_session(session: Callable[..., Session]) -> None:
    files = {
        "conftest.py": "import os\nif 'PYTEST_XDIST_WORKER' in os.environ: os._exit(7)",
        "test_a.py": "def test_it(): pass",
    }
    (result,) = session(files, ["test_a.py::test_it"]).results().values()
    assert result.outcome is Outcome.ERROR
    assert "the worker died before it imported a probe module" in (result.message or "")


def test_a_conftest_that_ends_pytest_is_no_pass(session: Callable[..., Session]) -> None:
    files = {"conftest.py": "import os; os._exit(0)", "test_a.py": "def test_it(): pass"}
    (result,) = session(files, ["test_a.py::test_it"]).results().values()
    assert (result.outcome, result.signature) == (
        Outcome.ERROR,
        "the probe was never started; pytest ended with 0",
    )


def test_an_interrupt_keeps_what_was_reported(session: Callable[..., Session]) -> None:
    probes = "import time\ndef test_fails(): assert 0\ndef test_hangs(): time.sleep(60)\ndef test_later(): pass"
    nodeids = [f"test_a.py::test_{name}" for name in ("fails", "hangs", "later")]
    made = session({"test_a.py": probes}, nodeids, probe_timeout=60)
    raw = made.run(made.interrupt_in("test_a.py::test_hangs"))
    assert json.loads(raw.artifacts["session.json"])["pytest_exit"] == 2
    assert b"test_fails" in raw.artifacts["junit.xml"]
    results = made.results(dataclasses.replace(raw, deadline_passed=True))
    assert [result.outcome for result in results.values()] == [Outcome.FAIL, Outcome.TIMEOUT, Outcome.NOT_RUN]


def test_only_the_probes_own_settings_count(session: Callable[..., Session], tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise RuntimeError('of somebody else')")
    made = session(
        {"test_a.py": "def test_it(): pass"},
        ["test_a.py::test_it"],
        environment={"PYTEST_ADDOPTS": "--no-such-option", "PYTEST_PLUGINS": "no_such_plugin"},
    )
    assert made.results()["test_a.py::test_it"].outcome is Outcome.PASS


def test_packages_under_test_meet_their_own_dependencies_and_pytest_is_the_pinned_one(
    session: Callable[..., Session], tmp_path: Path, runner: Path
) -> None:
    site = tmp_path / "site"
    for name in ("packaging", "pytest", "pluggy", "execnet"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text("installed = True")
    probe = f"""
import pytest, sys
def test_it():
    import packaging, pluggy
    assert packaging.installed
    assert pytest.__file__.startswith({str(runner)!r}) and pluggy.__file__.startswith({str(runner)!r})
    assert sys.path.index({str(site)!r}) < sys.path.index({str(runner)!r})
"""
    made = session({"test_a.py": probe}, ["test_a.py::test_it"], environment={"PYTHONPATH": str(site)})
    (result,) = made.results().values()
    assert result.outcome is Outcome.PASS, result.message


def test_home_is_made(session: Callable[..., Session]) -> None:
    probe = "import os, pathlib\ndef test_it(): assert pathlib.Path(os.environ['HOME']).is_dir()"
    made = session({"test_a.py": probe}, ["test_a.py::test_it"])
    assert made.results()["test_a.py::test_it"].outcome is Outcome.PASS
