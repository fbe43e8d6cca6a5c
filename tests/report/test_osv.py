from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from jsonschema import Draft202012Validator

import lettered
from orchestrator.model import Report, Topic, Verdict
from orchestrator.report import osv, render
from orchestrator.versions import Version

TEXT = {"type": "string"}
EVENT = {
    "type": "object",
    "oneOf": [{"required": ["introduced"]}, {"required": ["fixed"]}],
    "properties": {"introduced": TEXT, "fixed": TEXT},
    "additionalProperties": False,
}
# What the format asks of the fields that are used, written down from https://ossf.github.io/osv-schema/.
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["id", "modified", "schema_version"],
        "additionalProperties": False,
        "properties": {
            "schema_version": {"type": "string", "pattern": r"^1\.\d+\.\d+$"},
            "id": {"type": "string", "pattern": "^[A-Za-z0-9:_.-]+$"},
            "modified": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$"},
            "summary": TEXT,
            "details": TEXT,
            "affected": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "package": {
                            "type": "object",
                            "required": ["ecosystem", "name"],
                            "properties": {"ecosystem": {"const": "PyPI"}, "name": TEXT},
                            "additionalProperties": False,
                        },
                        "ranges": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["type", "events"],
                                "properties": {
                                    "type": {"const": "ECOSYSTEM"},
                                    "events": {
                                        "type": "array",
                                        "minItems": 1,
                                        "contains": {"required": ["introduced"]},
                                        "items": EVENT,
                                    },
                                },
                                "additionalProperties": False,
                            },
                        },
                        "versions": {"type": "array", "items": TEXT},
                        "database_specific": {"type": "object"},
                    },
                },
            },
            "references": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["type", "url"],
                    "properties": {"type": {"enum": ["REPORT", "WEB"]}, "url": {"pattern": "^https?://"}},
                },
            },
            "database_specific": {"type": "object"},
        },
    },
}


def is_affected(version: Version, affected: dict[str, Any]) -> bool:
    """Evaluate a record as the format's own algorithm does: listed, or after an introduction and no fix since."""
    vulnerable = False
    for event in (event for one in affected["ranges"] for event in one["events"]):
        ((kind, at),) = event.items()
        if kind == "introduced" and (at == "0" or version >= Version(at)):
            vulnerable = True
        elif kind == "fixed" and version >= Version(at):
            vulnerable = False
    return vulnerable or str(version) in affected["versions"]


def test_records_meet_the_schema(report: Report) -> None:
    Draft202012Validator(SCHEMA).validate(json.loads(render(report, "osv")))


def test_a_record_per_issue_that_anything_is_affected_by(report: Report) -> None:
    found = {one["id"]: one for one in osv.records(report)}
    affected = {one.issue for one in report.series if any(p.verdict is Verdict.BAD for p in one.points)}
    assert set(found) == {f"MATRIX-{issue}" for issue in affected}
    (entry,) = found["MATRIX-xla-einsum-autocast"]["affected"]
    assert entry["package"] == {"ecosystem": "PyPI", "name": "torch-xla"}
    assert entry["versions"] == ["2.5.1"]
    assert entry["database_specific"]["fixed"] == [{"python": "3.10"}, {"python": "3.11"}]
    assert entry["database_specific"]["unknown"] == ["2.6.0"]
    assert [one["untested"] for one in entry["database_specific"]["intervals"]] == [[], ["2.6.0"]]
    assert {one["type"] for one in found["MATRIX-torch-dot-half"]["references"]} == {"REPORT", "WEB"}


@given(lettered.HISTORIES)
def test_every_known_version_evaluates_to_what_it_is(letters: str) -> None:
    one = lettered.series(letters)
    found = osv.records(lettered.report(one))
    Draft202012Validator(SCHEMA).validate(found)
    assert bool(found) == any(point.verdict is Verdict.BAD for point in one.points)
    for entry in (entry for record in found for entry in record["affected"]):
        for point in one.points:
            if point.verdict is not Verdict.UNKNOWN:
                assert is_affected(point.version, entry) == (point.verdict is Verdict.BAD)
        # Never from the beginning: that was not tested.
        assert {"introduced": "0"} not in entry["ranges"][0]["events"]


def test_what_is_known_of_earlier_versions() -> None:
    def earlier(letters: str) -> object:
        (record,) = osv.records(lettered.report(lettered.series(letters)))
        return record["affected"][0]["database_specific"]["earlier"]

    assert earlier("gb") is None
    assert earlier("b") == earlier("nb") == "unknown"
    assert earlier("aab") == "absent"


def test_a_package_of_unknown_name_is_left_out() -> None:
    (record,) = osv.records(lettered.report(lettered.series("b"), distributions={}))
    assert "package" not in record["affected"][0]
    assert record["affected"][0]["database_specific"]["axis"] == "lib"


def test_when_it_became_known(report: Report) -> None:
    started = replace(report.provenance, started=None)
    measured = osv.records(replace(report, provenance=started))
    assert {one["modified"] for one in measured} == {"2026-11-20T09:35:00Z"}
    (record,) = osv.records(lettered.report(lettered.series("b"), provenance=started))
    assert record["modified"] == "1970-01-01T00:00:00Z"


def test_references_lead_to_the_web_and_details_are_no_markup() -> None:
    one = lettered.series("b", stack="a_b_*c*")
    topic = Topic(title="t", link="javascript:alert(1)")
    (record,) = osv.records(lettered.report(one, issues={"i": topic}))
    assert record["references"] == []
    assert record["details"].startswith(r"- a\_b\_\*c\*")
