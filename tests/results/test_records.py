"""Report-log and progress lines, whole and damaged."""

from __future__ import annotations

import json

from orchestrator.results.progress import read_progress
from orchestrator.results.reportlog import MAX_TEXT, read_report_log


def lines(*records: object) -> bytes:
    return b"\n".join(json.dumps(record).encode() for record in records)


def report(longrepr: object, **fields: object) -> dict[str, object]:
    base = {"$report_type": "TestReport", "nodeid": "t.py::a", "when": "call", "outcome": "failed"}
    return {**base, "longrepr": longrepr, **fields}


def headline(longrepr: object) -> str:
    return read_report_log(lines(report(longrepr))).probes["t.py::a"][0].headline


def test_headlines_of_every_form_of_a_failure() -> None:
    assert headline({"reprcrash": {"message": "ValueError: x\nmore"}}) == "ValueError: x\nmore"
    assert headline("Traceback\nE   ImportError: first\nE   KeyError: last") == "KeyError: last"
    assert headline("worker 'gw0' crashed") == "worker 'gw0' crashed"
    assert headline(["t.py", 3, "Skipped: absent: x"]) == "Skipped: absent: x"
    assert headline(None) == ""
    assert (
        headline({"reprcrash": None, "reprtraceback": {"reprentries": [None, {"data": {"lines": ["a", 1]}}]}})
        == "a\n1"
    )
    assert headline(7) == ""


def test_a_long_traceback_keeps_both_ends() -> None:
    text = "first\n" + "x" * 100_000 + "\nlast"
    (phase,) = read_report_log(lines(report(text))).probes["t.py::a"]
    assert len(phase.text) < MAX_TEXT + 20
    assert phase.text.startswith("first")
    assert phase.text.endswith("last")


def test_damaged_report_lines_are_passed_over() -> None:
    data = (
        b"\xff\n[]\n7\n" + b"[" * 100_000 + b"\n" + lines(report("x", duration="long", user_properties=[1, ["a"]]))
    )
    log = read_report_log(data + b'\n{"nodeid": "cut')
    (phase,) = log.probes["t.py::a"]
    assert (phase.duration, phase.properties, log.finished) == (0.0, (), False)


def test_progress_tells_the_runs_of_a_restarted_worker_apart() -> None:
    progress = read_progress(
        lines(
            {"phase": "collected", "time": 1, "pid": 5, "probes": ["a", "b"]},
            {"phase": "start", "time": 2, "pid": 5, "probe": "a"},
            {"phase": "worker-exit", "time": 3, "pid": 4, "worker": 5, "status": -11, "hang": None},
            {"phase": "start", "time": 4, "pid": 6, "probe": "b"},
            {"phase": "finish", "time": 5, "pid": 6, "probe": "b"},
        )
    )
    death = progress.death("a")
    assert death is not None
    assert death.status == -11
    assert progress.death("b") is None
    assert progress.running("b") is None
    assert progress.collected == ("a", "b")


def test_damaged_progress_lines_are_passed_over() -> None:
    data = lines(
        7,
        {"phase": "start"},
        {"phase": "start", "time": "soon", "pid": 1, "probe": "x"},
        {"phase": "finish", "time": 1, "probe": "never started"},
        {"phase": "worker-exit", "time": 1, "worker": "x", "status": 1},
        {"phase": "start", "time": 1, "pid": 1, "probe": "a"},
    )
    progress = read_progress(data + b'\n{"phase": "fin')
    assert set(progress.runs) == {"a"}
    assert progress.deaths == {}
    assert progress.collected is None
