from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import lettered
from orchestrator.report import render, table_csv

if TYPE_CHECKING:
    from orchestrator.model import Report


def rows(report: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table_csv.render(report), newline="")))


def test_one_row_per_version_of_a_series(report: Report) -> None:
    found = rows(report)
    assert [(row["issue"], row["stack"], row["version"]) for row in found] == [
        (one.issue, one.stack, str(point.version)) for one in report.series for point in one.points
    ]
    # RFC 4180: lines end with CR LF, the last one too.
    assert render(report, "csv").endswith("\r\n")
    assert render(report, "csv").count("\r\n") == len(found) + 1


def test_a_row_says_what_is_known(report: Report) -> None:
    (row,) = (r for r in rows(report) if (r["issue"], r["version"]) == ("torch-no-grad", "2.1.2"))
    assert {name: row[name] for name in ("outcome", "verdict", "signature", "state", "transition")} == {
        "outcome": "pass",
        "verdict": "good",
        "signature": "",
        "state": "ok",
        "transition": "fixed",
    }
    assert 0.5 < float(row["confidence"]) < 1
    assert float(row["metric:mae"]) == 3.7346e-06
    assert row["measured"] == "2026-11-20T09:30:00Z"
    assert (row["device"], row["hardware"]) == ("cpu", "Intel(R) Xeon(R) Processor")


def test_when_and_where_is_left_out_where_another_attempt_answers(report: Report) -> None:
    one = report.series[1 if report.series[0].state == "unknown" else 0]
    points = tuple(structs.replace(point, attempt="an-earlier-one") for point in one.points)
    found = rows(replace(report, series=(replace(one, points=points),)))
    assert {(row["attempt"], row["measured"], row["hardware"]) for row in found} == {("an-earlier-one", "", "")}


def test_the_reason_of_a_cell_stands_for_a_signature(report: Report) -> None:
    (reason,) = {r["signature"] for r in rows(report) if r["outcome"] == "build-failed"}
    assert reason.startswith("No space left on device")


def test_fixed_axes_are_named() -> None:
    (row,) = rows(lettered.report(lettered.series("g", fixed={"torch": "2.5.1", "python": "3.10"})))
    assert row["fixed"] == "python=3.10; torch=2.5.1"


@given(st.text(alphabet="=+-@\t\r\n\"',;|a1＝＠ ", max_size=12))  # noqa: RUF001
def test_no_text_is_a_formula_and_all_come_back(text: str) -> None:
    one = lettered.series("b")
    point = structs.replace(one.points[0], signature=text, metrics={"mae": -1.5, "nan": math.nan})
    (row,) = rows(lettered.report(replace(one, points=(point,))))
    assert not row["signature"].startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＠"))  # noqa: RUF001
    assert row["signature"] in (text, f"'{text}")
    assert row["metric:mae"] == "-1.5"
    assert math.isnan(float(row["metric:nan"]))


@pytest.mark.parametrize("name", ["=cmd", "a,b", 'a"b'])
def test_the_name_of_a_metric_is_no_formula(name: str) -> None:
    one = lettered.series("g")
    point = structs.replace(one.points[0], metrics={name: 1.0})
    (row,) = rows(lettered.report(replace(one, points=(point,))))
    assert row[f"metric:{name}"] == "1.0"
