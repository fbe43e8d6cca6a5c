from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import structs

from orchestrator.report import pieces, render

if TYPE_CHECKING:
    from orchestrator.model import Point, Report

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "report.schema.json"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


@pytest.fixture
def document(report: Report) -> dict[str, Any]:
    return json.loads(render(report, "json"), parse_constant=pytest.fail)


def result(document: dict[str, Any], issue: str, stack: str) -> dict[str, Any]:
    (found,) = (one for one in document["results"] if (one["issue"], one["stack"]) == (issue, stack))
    return found


def test_the_report_meets_its_schema(document: dict[str, Any], validator: Draft202012Validator) -> None:
    validator.validate(document)


def test_the_schema_refuses_what_the_contract_does_not_have(
    document: dict[str, Any], validator: Draft202012Validator
) -> None:
    def refused(**changes: Any) -> bool:
        transition = {**result(document, "torch-dot-half", "torch-cpu")["transitions"][1], **changes}
        changed = {**document["results"][0], "transitions": [transition]}
        return not validator.is_valid({**document, "results": [changed]})

    assert not refused()
    assert refused(note="more")
    assert refused(kind="gone")
    assert refused(confidence=1.5)
    assert refused(after=None)
    assert not validator.is_valid({**document, "format": 2})


def test_the_pieces_are_the_text(report: Report) -> None:
    hostile = replace(report, notices=("a\x1b[31mb",))
    assert b"".join(pieces(hostile, "json")).decode() == render(hostile, "json")
    assert b"".join(pieces(hostile, "markdown")).decode() == render(hostile, "markdown")


def test_a_result_is_exactly_the_contract(document: dict[str, Any]) -> None:
    found = result(document, "torch-dot-half", "torch-cpu")
    cells = found.pop("cells")
    # How sure it is depends on the constants of the prior.
    confidences = [transition.pop("confidence") for transition in found["transitions"]]
    assert all(0.5 < confidence < 1.0 for confidence in confidences)
    assert found == {
        "issue": "torch-dot-half",
        "stack": "torch-cpu",
        "axis": "torch",
        "fixed": {},
        "state": "ok",
        "transitions": [
            {"kind": "introduced", "after": None, "version": "2.0.1", "untested": []},
            {
                "kind": "fixed",
                "after": "2.1.2",
                "version": "2.2.0",
                "untested": [],
                "compare": "https://github.com/pytorch/pytorch/compare/v2.1.2...v2.2.0",
                "culprit": ["torch"],
            },
        ],
    }
    assert list(cells) == ["2.0.1", "2.1.0", "2.1.2", "2.2.0", "2.5.1", "2.6.0", "2.7.1", "2.8.0"]
    assert cells["2.1.2"] == {
        "outcome": "fail",
        "signature": "RuntimeError: \"dot\" not implemented for 'Half'",
        "cell": "torch-cpu-py3.11-torch2.1.2",
    }
    assert cells["2.2.0"] == {"outcome": "pass", "signature": None, "cell": "torch-cpu-py3.11-torch2.2.0"}


def test_results_are_sorted_and_evidence_stands_beside_them(document: dict[str, Any]) -> None:
    keys = [(one["issue"], one["stack"], sorted(one["fixed"].items())) for one in document["results"]]
    assert keys == sorted(keys)
    assert [(one["issue"], one["stack"], sorted(one["fixed"].items())) for one in document["evidence"]] == keys


def test_a_passing_cell_has_no_signature_whatever_was_recorded(report: Report) -> None:
    def signed(point: Point) -> Point:
        return structs.replace(point, signature="noise")

    series = tuple(replace(one, points=tuple(map(signed, one.points))) for one in report.series)
    document = json.loads(render(replace(report, series=series), "json"))
    cells = result(document, "torch-dot-half", "torch-cpu")["cells"]
    assert (cells["2.1.2"]["signature"], cells["2.2.0"]["signature"]) == ("noise", None)


def test_numbers_that_json_lacks_are_words(report: Report, validator: Draft202012Validator) -> None:
    series = report.series[0]
    point = structs.replace(series.points[0], metrics={"mae": float("nan"), "max": float("-inf")})
    changed = replace(report, series=(replace(series, points=(point, *series.points[1:])),))
    document = json.loads(render(changed, "json"), parse_constant=pytest.fail)
    validator.validate(document)
    assert document["evidence"][0]["metrics"][str(point.version)] == {"mae": "NaN", "max": "-Infinity"}


def test_the_order_of_series_and_cells_does_not_show(report: Report) -> None:
    turned = replace(
        report,
        series=report.series[::-1],
        cells=report.cells[::-1],
        findings=report.findings[::-1],
        issues=dict(reversed(report.issues.items())),
    )
    assert render(report, "json") == render(turned, "json")
