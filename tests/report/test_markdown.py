from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from orchestrator.report import escape, render
from orchestrator.report.markdown import BUDGET

if TYPE_CHECKING:
    from orchestrator.model import Report


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | b", r"a \| b"),
        ("`x` *y* __z__ [l](u)", r"\`x\` \*y\* \_\_z\_\_ \[l\](u)"),
        ("<b>&amp;", r"\<b\>\&amp;"),
        ("# no heading", r"\# no heading"),
        ("- no item, 2 - 1", r"\- no item, 2 - 1"),
        ("@everyone", "@\N{ZERO WIDTH JOINER}everyone"),
        ("see #12", "see #\N{ZERO WIDTH JOINER}12"),
        ("https://e.example", "https://\N{ZERO WIDTH JOINER}e.example"),
        ("onednn::qconv (1)", "onednn::qconv (1)"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    assert escape.markdown(text) == expected


def test_in_html() -> None:
    assert escape.in_html('<b> & "x" @me') == "&lt;b&gt; &amp; &quot;x&quot; @\N{ZERO WIDTH JOINER}me"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://e.example/a_b?c=d#e", "[x](https://e.example/a_b?c=d#e)"),
        ("https://e.example/)(<>|` ", "[x](https://e.example/%29%28%3C%3E%7C%60%20)"),
        ("javascript:alert(1)", "x"),
        ("data:text/html,x", "x"),
        ("https:", "x"),
        ("https://[broken", "x"),
        (None, "x"),
    ],
)
def test_link(url: str | None, expected: str) -> None:
    assert escape.link("x", url) == expected


def test_a_report_is_cut_before_a_summary_would_be_refused(report: Report) -> None:
    row = replace(report.cells[0], excluded=True)
    cells = tuple(replace(row, cell=f"cell-{number}", reason=f"reason {number} " * 50) for number in range(3000))
    rendered = render(replace(report, cells=cells), "markdown")
    assert len(rendered.encode()) < BUDGET + 200
    assert rendered.startswith("| issue")
    assert rendered.endswith("sections more than a summary can hold.\n")
