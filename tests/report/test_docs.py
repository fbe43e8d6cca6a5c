"""The pages that describe reports say what the program says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator

from orchestrator.model import Outcome, Point
from orchestrator.report import render, words
from orchestrator.versions import Version

if TYPE_CHECKING:
    from orchestrator.model import Report

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_outcomes_is_complete_and_has_their_glyphs() -> None:
    text = (DOCS / "concepts.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z-]+) \| [^|]+ \| (good|bad|unknown)[^|]* \| (\S)[^|]* \|$", text, re.MULTILINE)
    assert rows == [
        (
            outcome.value,
            outcome.verdict.value,
            words.glyph(Point(version=Version("1"), cell="c", outcome=outcome, verdict=outcome.verdict)),
        )
        for outcome in Outcome
    ]


def test_the_example_of_the_contract_is_what_a_report_has(report: Report) -> None:
    text = (DOCS / "reference" / "report.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (example,) = json.loads(block)["results"]
    schema = json.loads((DOCS / "reference" / "report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(json.loads(block))
    (result,) = (
        one
        for one in json.loads(render(report, "json"))["results"]
        if (one["issue"], one["stack"]) == (example["issue"], example["stack"])
    )
    # How sure it is depends on the constants of the prior, which a page need not follow.
    for transition in (*result["transitions"], *example["transitions"]):
        assert 0.5 < transition.pop("confidence") < 1.0
    assert {**result, "cells": {"2.0.1": result["cells"]["2.0.1"]}} == example


def test_every_key_of_the_document_is_described(report: Report) -> None:
    text = (DOCS / "reference" / "report.md").read_text(encoding="utf-8")
    document = json.loads(render(report, "json"))
    parts = [document, document["run"], document["coverage"]]
    parts += [document[key][0] for key in ("results", "findings", "evidence", "cells")]
    parts += [
        transition for one in document["results"] + document["evidence"] for transition in one["transitions"]
    ]
    assert not [
        key
        for part in parts
        for key in part
        if f"`{key}`" not in text and f"### {key}" not in text and key != "format"
    ]
