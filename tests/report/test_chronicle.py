from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from orchestrator.model import State
from orchestrator.report.chronicle import chronicle, table

if TYPE_CHECKING:
    from orchestrator.model import Report

ISSUE = "torchao-aqt-matmul"


def day(report: Report, number: int) -> tuple[str, Report]:
    started = datetime(2026, 11, number, tzinfo=UTC)
    return f"2026110{number}", replace(report, provenance=replace(report.provenance, started=started))


def healed(report: Report) -> Report:
    """Return a report in which the issue was never seen."""
    series = tuple(
        replace(one, state=State.OK, transitions=()) if one.issue == ISSUE else one for one in report.series
    )
    return replace(report, series=series)


def test_only_the_runs_that_said_something_new(report: Report) -> None:
    runs = [day(report, 1), day(report, 2), day(healed(report), 3), day(healed(report), 4), day(report, 5)]
    found = chronicle(runs, ISSUE, every=False)
    assert [one.run for one in found] == ["20261101", "20261103", "20261105"]
    begun = ("≤ 0.5.0 (the earliest version known; 0.3.1 untested)",)
    assert [one.introduced for one in found] == [begun, ("never seen",), begun]
    assert len(chronicle(runs, ISSUE, every=True)) == 5
    assert chronicle(runs, "nothing", every=True) == ()


def test_each_place_has_its_own_history(report: Report) -> None:
    found = chronicle([day(report, 1)], "torch-dot-half", every=False)
    assert {one.where for one in found} == {"torch-cpu / torch", "ipex-xpu / ipex"}
    assert {one.probability is None for one in found} == {True, False}


def test_the_table_fits(report: Report) -> None:
    text = table(chronicle([day(report, 1)], ISSUE, every=False), 80, lambda _role, text: text)
    assert max(map(len, text.splitlines())) <= 80
    assert "2026-11-01" in text
    assert "0.11.0" in text


def test_an_entry_for_programs(report: Report) -> None:
    (entry,) = chronicle([day(report, 1)], ISSUE, every=False)
    written = entry.as_json()
    assert written["state"] == "ok"
    assert written["fixed"] == ["0.11.0 (after 0.10.0)"]
    assert 0.5 < written["probability"] <= 1.0
