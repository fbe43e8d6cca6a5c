from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

import lettered
from orchestrator.model import Report, Verdict
from orchestrator.report import browser_compat, render
from orchestrator.versions import Version

VERSION = {"type": "string", "pattern": r"^≤?\d+(\.\d+)*$"}
STATEMENT = {
    "type": "object",
    "required": ["version_added"],
    "additionalProperties": False,
    "properties": {
        "version_added": {"anyOf": [VERSION, {"enum": [False, None]}]},
        "version_removed": VERSION,
        "notes": {
            "anyOf": [{"type": "string"}, {"type": "array", "minItems": 2, "items": {"type": "string"}}],
        },
    },
}
# What the data of MDN must look like in the parts that are used, in our words.
SCHEMA = {
    "type": "object",
    "maxProperties": 1,
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-zA-Z_0-9-$@]*$"},
        "additionalProperties": {
            "type": "object",
            "required": ["__compat"],
            "properties": {
                "__compat": {
                    "type": "object",
                    "required": ["support", "status"],
                    "properties": {
                        "support": {
                            "additionalProperties": {
                                "anyOf": [STATEMENT, {"type": "array", "minItems": 2, "items": STATEMENT}],
                            },
                        },
                    },
                },
            },
        },
    },
}


def support(letters: str) -> Any:
    return browser_compat.document(lettered.report(lettered.series(letters)))["matrix"]["i"]["__compat"][
        "support"
    ]["s"]


def works(version: Version, statements: list[dict[str, Any]]) -> bool:
    """Read statements as their format tells: added at a version, and there until it is removed."""
    spans = [(one["version_added"], one.get("version_removed")) for one in statements]
    return any(
        bool(added)
        and version >= Version(added.lstrip("≤"))
        and (removed is None or version < Version(removed.lstrip("≤")))
        for added, removed in spans
    )


def test_the_document_meets_the_schema(report: Report) -> None:
    Draft202012Validator(SCHEMA).validate(json.loads(render(report, "browser-compat")))


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("gg", {"version_added": "≤1.0"}),
        ("ng", {"version_added": "≤2.0", "notes": "not known before that, in 1.0 (not run)"}),
        ("ag", {"version_added": "2.0", "notes": "not known before that, in 1.0 (absent)"}),
        ("bg", {"version_added": "2.0"}),
        ("gb", {"version_added": "≤1.0", "version_removed": "2.0"}),
        (
            "gnb",
            {
                "version_added": "≤1.0",
                "version_removed": "≤3.0",
                "notes": "removed after 1.0, in 3.0 at the latest: 2.0 not known",
            },
        ),
        ("bng", {"version_added": "≤3.0", "notes": "added after 1.0, in 3.0 at the latest: 2.0 not known"}),
        ("bb", {"version_added": False, "notes": "affected in 1.0 and 2.0"}),
        (
            "bfa",
            {
                "version_added": False,
                "notes": ["affected in 1.0", "not known after that, in 2.0 (build failed) and 3.0 (absent)"],
            },
        ),
        ("dd", {"version_added": None, "notes": "not known in 1.0 and 2.0 (no device)"}),
        (
            "gbgbgn",
            [
                {"version_added": "5.0", "notes": "not known after that, in 6.0 (not run)"},
                {"version_added": "3.0", "version_removed": "4.0"},
                {"version_added": "≤1.0", "version_removed": "2.0"},
            ],
        ),
    ],
)
def test_statements(letters: str, expected: object) -> None:
    assert support(letters) == expected


@given(lettered.HISTORIES)
def test_statements_tell_every_known_version(letters: str) -> None:
    report = lettered.report(lettered.series(letters))
    Draft202012Validator(SCHEMA).validate(browser_compat.document(report))
    found = support(letters)
    statements = found if isinstance(found, list) else [found]
    points = report.series[0].points
    known = [point for point in points if point.verdict is not Verdict.UNKNOWN]
    for point in known:
        assert works(point.version, statements) == (point.verdict is Verdict.GOOD)
    if not known:
        assert found["version_added"] is None


def test_a_stack_with_several_answers_has_one_name_for_each() -> None:
    same = [lettered.series("bg", fixed={"python": python}) for python in ("3.10", "3.11")]
    other = lettered.series("bb", fixed={"python": "3.12"})
    (compat,) = browser_compat.document(lettered.report(*same, other))["matrix"].values()
    assert compat["__compat"]["support"] == {
        "s, python 3.10 and 3.11": {"version_added": "2.0"},
        "s, python 3.12": {"version_added": False, "notes": "affected in 1.0 and 2.0"},
    }
    (compat,) = browser_compat.document(lettered.report(*same))["matrix"].values()
    assert list(compat["__compat"]["support"]) == ["s"]
