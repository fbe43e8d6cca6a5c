"""Every row of the outcome table, and what no attempt may do: pass without every piece of evidence."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attempts import ATTEMPT, DIES, PASSED, Item, attempt, fails
from orchestrator.execute.port import ARTIFACTS, RawAttempt
from orchestrator.model import Import, Outcome, ProbeResult
from orchestrator.results import blanket, classify, imports
from orchestrator.results.classify import SEVERITY

if TYPE_CHECKING:
    from collections.abc import Mapping

A, B, C = "test_a.py::test_one", "test_a.py::test_two", "sub/test_b.py::test_three"
HALF = "RuntimeError: \"dot\" not implemented for 'Half'"


def outcome_of(raw: RawAttempt, probe: str = A) -> tuple[Outcome, str | None]:
    (result,) = classify(raw, attempt=ATTEMPT, nodeids=[probe])
    return result.outcome, result.signature


def outcomes(raw: RawAttempt, *probes: str) -> list[Outcome]:
    return [result.outcome for result in classify(raw, attempt=ATTEMPT, nodeids=probes)]


def seen(error: str | None) -> Mapping[str, object]:
    return {"package": "ipex", "version": None, "git_version": None, "error": error}


# One attempt per row of the table in docs/concepts.md, and what it comes to.
ROWS = {
    "pass": (attempt({A: PASSED}), Outcome.PASS, None),
    "pass beside a failure elsewhere": (attempt({A: PASSED, B: fails("x")}), Outcome.PASS, None),
    "fail: assertion": (
        attempt({A: fails("AssertionError: values differ: mean abs error 1.4759\nassert 1.4759 <= 0.0001")}),
        Outcome.FAIL,
        "AssertionError: values differ: mean abs error N",
    ),
    "fail: the library's own error": (attempt({A: fails(HALF)}), Outcome.FAIL, HALF),
    "fail, and then its fixtures broke": (
        attempt({A: Item(failed={"call": HALF, "teardown": "ValueError: x"})}),
        Outcome.FAIL,
        HALF,
    ),
    "crash": (attempt({A: DIES}), Outcome.CRASH, "SIGSEGV"),
    "crash: abort": (attempt({A: Item(dies=-6)}), Outcome.CRASH, "SIGABRT"),
    "crash: killed": (attempt({A: Item(dies=-9)}), Outcome.CRASH, "SIGKILL"),
    "crash: out of memory": (
        attempt({A: Item(dies=-9)}, out_of_memory=True),
        Outcome.CRASH,
        "SIGKILL (out of memory)",
    ),
    "crash of the whole attempt": (
        attempt({A: Item(running=True)}, without=["session.json", "junit.xml"], exit_code=137, out_of_memory=True),
        Outcome.CRASH,
        "SIGKILL (out of memory)",
    ),
    "crash of the whole attempt by a signal": (
        attempt({A: Item(running=True)}, without=["session.json", "junit.xml"], signal=7),
        Outcome.CRASH,
        "SIGBUS",
    ),
    "timeout": (
        attempt({A: fails("Failed: Timeout (>2.0s) from pytest-timeout.")}),
        Outcome.TIMEOUT,
        "timeout in call",
    ),
    "timeout in a fixture": (
        attempt({A: fails("Failed: Timeout >2.0s", "setup")}),
        Outcome.TIMEOUT,
        "timeout in setup",
    ),
    "timeout: hard deadline": (
        attempt({A: Item(hangs=True)}),
        Outcome.TIMEOUT,
        "hung: the process was killed at the hard deadline",
    ),
    "timeout: deadline of the attempt": (
        attempt({A: Item(running=True)}, without=["session.json"], deadline_passed=True, signal=9),
        Outcome.TIMEOUT,
        "the attempt's deadline passed while the probe ran",
    ),
    "timeout: ended by the deadline's own signal": (
        attempt({A: Item(dies=-15)}, without=["session.json"], deadline_passed=True, signal=9),
        Outcome.TIMEOUT,
        "the attempt's deadline passed while the probe ran",
    ),
    "absent": (attempt({A: Item(skipped="absent: torch.foo")}), Outcome.ABSENT, "torch.foo"),
    "no-device": (attempt({A: Item(skipped="no-device: xpu")}), Outcome.NO_DEVICE, "xpu"),
    "error: skipped for another reason": (
        attempt({A: Item(skipped="not today")}),
        Outcome.ERROR,
        "skipped: not today",
    ),
    "error: control failed": (
        attempt({A: fails("AssertionError: control: float32 dot on cpu is 3", "setup")}),
        Outcome.ERROR,
        "AssertionError: control: float32 dot on cpu is 3",
    ),
    "error: fixture broke after a pass": (
        attempt({A: fails("ValueError: late", "teardown")}),
        Outcome.ERROR,
        "ValueError: late",
    ),
    "error: os._exit(0)": (
        attempt({A: Item(dies=0)}),
        Outcome.ERROR,
        "the process exited with status 0 while the probe ran",
    ),
    "error: sys.exit": (attempt({A: fails("SystemExit: 127")}), Outcome.ERROR, "SystemExit: 127"),
    "error: strict xfail": (attempt({A: fails("[XPASS(strict)] known")}), Outcome.ERROR, "[XPASS(strict)] known"),
    "error: a child was killed for want of memory": (
        attempt({A: Item(oom_kills=1)}),
        Outcome.ERROR,
        "out of memory: a process was killed while the probe ran",
    ),
    "error: something was killed for want of memory": (
        attempt({A: PASSED}, out_of_memory=True),
        Outcome.ERROR,
        "out of memory: a process was killed while the probe ran",
    ),
    "error: died, and nothing says how": (
        attempt({A: DIES}, without=["progress.jsonl"]),
        Outcome.ERROR,
        "the process was lost while the probe ran",
    ),
    "error: a file was refused": (
        attempt({A: PASSED}, without=["junit.xml"], refused={"junit.xml": "a symbolic link"}),
        Outcome.ERROR,
        "result files were refused",
    ),
    "error: never started": (
        attempt({B: PASSED}, collected=[A, B], pytest_exit=3),
        Outcome.ERROR,
        "the probe was never started; pytest ended with 3 (internal error)",
    ),
    "error: nothing collected": (
        attempt({}, pytest_exit=5),
        Outcome.ERROR,
        "not collected: test_a.py has no such probe",
    ),
    "incompatible": (
        attempt({}, imports=[seen("the process exited with status 127 during import: ERROR! torch 2.5 needed")]),
        Outcome.INCOMPATIBLE,
        "the process exited with status 127 during import: ERROR! torch N needed",
    ),
    "error, not incompatible: out of memory at import": (
        attempt({}, imports=[seen("SIGKILL during import")], out_of_memory=True),
        Outcome.ERROR,
        "SIGKILL (out of memory)",
    ),
    "build-failed: replaced": (
        attempt({A: PASSED}, pins=[("numpy", "1.26.4", "1.26.4"), ("torch", "2.6.0+xpu", "2.6.0")]),
        Outcome.BUILD_FAILED,
        "torch replaced: wanted 2.6.0+xpu, got 2.6.0",
    ),
    "build-failed: not there": (
        attempt({A: PASSED}, pins=[("torch", "2.6.0", None)]),
        Outcome.BUILD_FAILED,
        "torch replaced: wanted 2.6.0, got nothing",
    ),
    "infra: never started": (
        RawAttempt(started=False, failure="no such device"),
        Outcome.INFRA,
        "no such device",
    ),
    "infra: never started, and nobody says why": (
        RawAttempt(started=False),
        Outcome.INFRA,
        "the process never started",
    ),
    "infra: engine lost it": (attempt({A: PASSED}, failure="unexpected EOF"), Outcome.INFRA, "unexpected EOF"),
    "infra: another attempt's files": (
        attempt({A: PASSED}, session="cell-0"),
        Outcome.INFRA,
        "the result directory holds files of another attempt",
    ),
    "infra: disk full": (
        attempt({A: PASSED}, replaced={"junit.xml": b""}, log="OSError: [Errno 28] No space left on device"),
        Outcome.INFRA,
        "no space left on device",
    ),
    "infra: deadline in the pre-flight": (
        RawAttempt(deadline_passed=True, signal=9),
        Outcome.INFRA,
        "the deadline passed before any probe ran",
    ),
    "infra: the payload never ran": (
        RawAttempt(exit_code=127, log="python: not found"),
        Outcome.INFRA,
        "the payload ended (127) before it wrote preflight.json",
    ),
    "not-run: cancelled": (attempt({A: PASSED}, cancelled=True), Outcome.NOT_RUN, "the run was stopped"),
}


@pytest.mark.parametrize(("raw", "outcome", "signature"), ROWS.values(), ids=ROWS)
def test_the_table(raw: RawAttempt, outcome: Outcome, signature: str | None) -> None:
    assert outcome_of(raw) == (outcome, signature)


def test_every_outcome_of_an_attempt_has_a_row() -> None:
    # An unresolvable cell never becomes an attempt.
    assert {row[1] for row in ROWS.values()} == set(Outcome) - {Outcome.UNRESOLVABLE}


NO_RESULT = {
    "no file": attempt({A: PASSED}, without=["junit.xml"]),
    "no file, exit status 1": attempt({A: PASSED}, without=["junit.xml"], pytest_exit=1),
    "empty": attempt({A: PASSED}, replaced={"junit.xml": b""}),
    "cut": attempt({A: PASSED}, replaced={"junit.xml": b"<testsuites><testsuite name='x'"}),
    "DOCTYPE": attempt({A: PASSED}, replaced={"junit.xml": b"<!DOCTYPE a><testsuites/>"}),
    "stale": attempt({A: PASSED}, suite="cell-0"),
    "another probe": attempt({A: PASSED}, replaced={"junit.xml": attempt({B: PASSED}).artifacts["junit.xml"]}),
    "refused": attempt({A: PASSED}, without=["junit.xml"], refused={"junit.xml": "a symbolic link"}),
    "no report-log": attempt({A: PASSED}, without=["report.jsonl"]),
    "no progress": attempt({A: PASSED}, without=["progress.jsonl"]),
    "no session": attempt({A: PASSED}, without=["session.json"]),
    "unexplained exit status": attempt({A: PASSED}, pytest_exit=1),
    "exit status 0 beside a failure": attempt({A: PASSED, B: fails("x")}, pytest_exit=0),
    "internal error": attempt({A: PASSED}, pytest_exit=3),
    "exit statuses differ": attempt({A: PASSED}, exit_code=139),
    "silently absent, as after pytest.exit(returncode=0)": attempt({B: PASSED}, collected=[A, B]),
}


@pytest.mark.parametrize("raw", NO_RESULT.values(), ids=NO_RESULT)
def test_a_pass_needs_every_piece_of_evidence(raw: RawAttempt) -> None:
    outcome, signature = outcome_of(raw)
    assert outcome is Outcome.ERROR
    assert signature


@given(data=st.data())
def test_no_cut_file_leaves_a_pass(data: st.DataObject) -> None:
    raw = attempt({A: PASSED})
    name = data.draw(st.sampled_from(ARTIFACTS))
    whole = raw.artifacts[name].rstrip()
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    (result,) = classify(
        dataclasses.replace(raw, artifacts={**raw.artifacts, name: cut}), attempt=ATTEMPT, nodeids=[A]
    )
    assert result.outcome is not Outcome.PASS


@given(
    artifacts=st.dictionaries(st.sampled_from(ARTIFACTS), st.binary(max_size=60)),
    exit_code=st.none() | st.integers(-70, 300),
    flags=st.fixed_dictionaries(
        {name: st.booleans() for name in ("started", "deadline_passed", "cancelled", "out_of_memory")}
    ),
    log=st.text(max_size=30),
)
def test_nothing_that_an_attempt_leaves_raises_or_passes(
    artifacts: dict[str, bytes], exit_code: int | None, flags: dict[str, bool], log: str
) -> None:
    raw = RawAttempt(artifacts=artifacts, exit_code=exit_code, log=log, **flags)
    assert Outcome.PASS not in outcomes(raw, A, B)


@given(data=st.data())
def test_overwritten_bytes_never_raise(data: st.DataObject) -> None:
    raw = attempt({A: PASSED, B: fails(HALF), C: DIES}, imports=[seen(None)])
    name = data.draw(st.sampled_from(ARTIFACTS))
    content = bytearray(raw.artifacts[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = dataclasses.replace(raw, artifacts={**raw.artifacts, name: bytes(content)})
    assert len(classify(damaged, attempt=ATTEMPT, nodeids=[A, B, C])) == 3


def test_a_crash_costs_the_other_probes_nothing() -> None:
    raw = attempt({A: PASSED, B: DIES, C: fails(HALF)})
    assert outcomes(raw, A, B, C) == [Outcome.PASS, Outcome.CRASH, Outcome.FAIL]


def test_what_was_measured_before_the_deadline_of_the_attempt() -> None:
    raw = attempt(
        {A: PASSED, B: fails(HALF), C: Item(running=True)},
        collected=[A, B, C, "test_c.py::test_later"],
        without=["session.json", "junit.xml"],
        deadline_passed=True,
        signal=9,
    )
    # A pass needs a whole session; a failure is one, however the session ended.
    assert outcomes(raw, A, B, C, "test_c.py::test_later") == [
        Outcome.NOT_RUN,
        Outcome.FAIL,
        Outcome.TIMEOUT,
        Outcome.NOT_RUN,
    ]


def test_reports_that_disagree_are_an_error_that_says_so() -> None:
    raw = attempt({A: PASSED}, replaced={"junit.xml": attempt({A: fails("x")}).artifacts["junit.xml"]})
    (result,) = classify(raw, attempt=ATTEMPT, nodeids=[A])
    assert result.outcome is Outcome.ERROR
    assert result.message == "junit.xml says failure, report.jsonl says passed"


def test_the_module_that_did_not_import_says_why() -> None:
    report = b"""{"$report_type": "CollectReport", "nodeid": "test_a.py", "outcome": "failed",
        "longrepr": "ImportError while importing\\nE   ModuleNotFoundError: No module named 'tomllib'"}\n"""
    raw = attempt({}, pytest_exit=1, replaced={"report.jsonl": report.replace(b"\n        ", b" ")})
    assert outcome_of(raw) == (Outcome.ERROR, "ModuleNotFoundError: No module named 'tomllib'")


@pytest.mark.parametrize(
    ("items", "outcome", "message"),
    [
        ({f"{A}[1]": PASSED, f"{A}[x::y]": PASSED}, Outcome.PASS, None),
        ({f"{A}[1]": PASSED, f"{A}[2]": fails(HALF)}, Outcome.FAIL, f"{A}[2]\n{HALF}"),
        ({f"{A}[1]": fails(HALF), f"{A}[2]": DIES}, Outcome.CRASH, f"{A}[2]\nprinted by {A}[2]"),
        ({f"{A}[1]": PASSED, f"{A}[2]": Item(skipped="absent: x")}, Outcome.ABSENT, f"{A}[2]\nx"),
    ],
)
def test_all_parametrisations_must_pass(items: Mapping[str, Item], outcome: Outcome, message: str | None) -> None:
    (result,) = classify(attempt(items), attempt=ATTEMPT, nodeids=[A])
    assert result.outcome is outcome
    assert (result.message or "").strip() == (message or "").strip()


def test_one_parametrisation_can_be_asked_for() -> None:
    raw = attempt({f"{A}[1]": PASSED, f"{A}[2]": fails(HALF)})
    assert outcomes(raw, f"{A}[1]", f"{A}[2]") == [Outcome.PASS, Outcome.FAIL]


def test_a_parametrisation_that_was_collected_and_never_ran_is_no_pass() -> None:
    raw = attempt({f"{A}[1]": PASSED}, collected=[f"{A}[1]", f"{A}[2]"])
    assert outcome_of(raw)[0] is Outcome.ERROR


def test_metrics_are_kept_the_worst_of_parametrisations() -> None:
    raw = attempt({f"{A}[1]": fails("x", mae=0.5, n=1), f"{A}[2]": fails("x", mae=1.4759)})
    (result,) = classify(raw, attempt=ATTEMPT, nodeids=[A])
    assert result.metrics == {"mae": 1.4759, "n": 1.0}
    (result,) = classify(attempt({A: fails("x", mae=math.nan)}), attempt=ATTEMPT, nodeids=[A])
    assert math.isnan(result.metrics["mae"])


def test_durations_come_from_the_monotonic_clock() -> None:
    raw = attempt({A: PASSED, B: DIES})
    assert [result.duration for result in classify(raw, attempt=ATTEMPT, nodeids=[A, B])] == [2.0, 2.0]


def test_a_crash_shows_what_was_printed_and_nothing_of_its_neighbours() -> None:
    log = (
        f"\n[probe] {A}\nnoise\n\n[probe] {B}\nFatal Python error: Segmentation fault\n"
        "[gw0] node down: Not properly terminated\nF"
    )
    _, result = classify(attempt({A: PASSED, B: DIES}, log=log), attempt=ATTEMPT, nodeids=[A, B])
    assert result.message == "Fatal Python error: Segmentation fault"


def test_imports_are_what_the_preflight_saw() -> None:
    raw = attempt({}, imports=[{"package": "torch", "version": "2.6.0", "git_version": "1eba9b3", "error": None}])
    assert imports(raw) == (Import(package="torch", version="2.6.0", git_version="1eba9b3"),)
    assert imports(RawAttempt()) == ()


def test_blanket_says_the_same_of_every_probe() -> None:
    reason = "torch has no wheel\nfor this Python"
    expected = {"outcome": Outcome.UNRESOLVABLE, "signature": "torch has no wheel", "message": reason}
    assert blanket([A, B], Outcome.UNRESOLVABLE, reason) == {
        A: ProbeResult(probe=A, **expected),  # type: ignore[arg-type] # of mixed types
        B: ProbeResult(probe=B, **expected),  # type: ignore[arg-type] # idem
    }


def test_severity_ranks_every_outcome_once() -> None:
    assert sorted(SEVERITY) == sorted(Outcome)
