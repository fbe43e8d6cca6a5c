from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model import Provenance, Report
from orchestrator.report import render, words
from orchestrator.report.html.page import BIG
from orchestrator.report.html.writing import as_script

JSON = st.recursive(
    st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.dictionaries(st.text(), JSON))
def test_data_stays_in_its_element_and_comes_back(value: dict[str, Any]) -> None:
    text = as_script(value)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == value


class Elements(HTMLParser):
    """What a page is made of: elements with their attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            self.inside.setdefault(self.cdata_elem, []).append(data)


def test_the_policy_allows_its_style_and_its_script_and_nothing_else(report: Report) -> None:
    page = Elements(render(report, "html"))
    (policy,) = (a["content"] for tag, a in page.found if a.get("http-equiv") == "Content-Security-Policy")
    (style,) = page.inside["style"]
    _, script = page.inside["script"]

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert policy is not None
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "style-src": digest(style),
        "script-src": digest(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_nothing_is_loaded_and_nothing_is_styled_or_handled_in_place(report: Report) -> None:
    for tag, attributes in Elements(render(report, "html")).found:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert (attributes.get("src") or "data:image/svg+xml;base64,").startswith("data:image/svg+xml;base64,")
        if tag == "a":
            assert re.match(r"#[a-z]|https?://", attributes["href"] or "")


def test_every_table_has_a_caption_and_headers_with_a_scope(report: Report) -> None:
    page = Elements(render(report, "html"))
    tags = [tag for tag, _ in page.found]
    assert tags.count("table") == tags.count("caption") > 0
    assert {a.get("scope") for tag, a in page.found if tag == "th"} == {"col", "row", "rowgroup"}


def test_ids_are_unique_and_links_lead_to_them(report: Report) -> None:
    page = Elements(render(report, "html"))
    ids = [a["id"] for _, a in page.found if "id" in a]
    assert len(ids) == len(set(ids))
    goals = {(a["href"] or "")[1:] for tag, a in page.found if tag == "a" and (a["href"] or "").startswith("#")}
    assert goals <= set(ids)
    named = {a["aria-labelledby"] for _, a in page.found if "aria-labelledby" in a}
    assert named - {"panel-h"} <= set(ids)  # which the script makes


def test_the_same_report_is_the_same_page(report: Report) -> None:
    assert render(report, "html") == render(report, "html")


def test_nothing_to_report_is_a_page_as_well() -> None:
    provenance = Provenance(tool="matrix-orchestrator", matrix="0")
    empty = Report(series=(), findings=(), cells=(), issues={}, stacks={}, provenance=provenance)
    page = render(empty, "html")
    assert "No issue has a cell here." in page
    assert "<table" not in page


def test_long_text_is_cut_wherever_it_stands(report: Report) -> None:
    long = replace(report, notices=("y" * 100_000,), provenance=replace(report.provenance, host="z" * 100_000))
    page = render(long, "html")
    assert max(map(len, re.findall("y+", page))) == words.LONGEST - 1
    assert max(map(len, re.findall("z+", page))) < words.LONGEST


def test_a_long_address_is_whole(report: Report) -> None:
    address = "https://example.org/" + "a" * 1500
    topics = {name: replace(topic, link=address) for name, topic in report.issues.items()}
    assert f'href="{address}"' in render(replace(report, issues=topics), "html")


def test_a_big_page_leaves_the_words_of_places_to_its_style(report: Report) -> None:
    series = next(one for one in report.series if one.issue == "torch-dot-half")
    many = tuple(replace(series, issue=f"issue-{n}") for n in range(BIG + 1))
    topics = {one.issue: report.issues[series.issue] for one in many}
    small, big = (
        render(replace(report, series=shown, issues=topics, findings=()), "html") for shown in (many[:-1], many)
    )
    assert "<td class=f>affected" in small
    assert "<td class=f>affected" not in big
    assert "<td class=f>" in big
    assert "<body class=big>" in big
    assert len(big) < len(small)
