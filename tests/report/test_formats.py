"""The page about formats for other tools says what they do: its examples are parts of the golden files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from markup import xml
from orchestrator.report import FORMATS, render, table_csv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestrator.model import Report

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
READ_BY_PEOPLE = {"text", "markdown", "json", "html"}


def test_every_format_has_a_section() -> None:
    assert set(FORMATS) - READ_BY_PEOPLE <= set(SECTIONS)


@pytest.mark.parametrize("format_", ["junit", "csv", "osv", "browser-compat", "constraints", "github"])
def test_examples_are_what_a_report_has(report: Report, format_: str) -> None:
    (example,) = re.findall(r"```\w+\n(.*?)```", SECTIONS[format_], re.DOTALL)
    rendered = render(report, format_).replace("\r\n", "\n")
    if format_ == "csv":
        # The header, and one of the rows.
        assert all(f"{line}\n" in rendered for line in example.splitlines())
        assert rendered.startswith(example.splitlines()[0])
    else:
        assert example in rendered


def described(section: str) -> set[str]:
    return set(re.findall(r"`([A-Za-z_:<>]+)`", re.sub(r"affected\[\]\.", "", SECTIONS[section])))


def test_every_column_is_described() -> None:
    assert {*table_csv.COLUMNS, "metric:<name>"} <= described("csv")


def test_every_field_is_described(report: Report) -> None:
    def keys(value: Any) -> Iterator[str]:
        for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
            yield from keys(item)
        if isinstance(value, dict):
            yield from value

    records = json.loads(render(report, "osv"))
    plain = {"id", "schema_version", "ecosystem", "name", "type", "events", "url", "tool", "matrix", "python"}
    assert set(keys(records)) - plain <= described("osv")


def test_every_attribute_and_property_is_described(report: Report) -> None:
    root = xml(render(report, "junit"))
    names = {node.get("name", "") for node in root.iter("property")}
    names |= {name for node in root.iter("testcase") for name in node.attrib}
    assert {re.sub(":.*", ":<name>", name) for name in names} <= described("junit")
