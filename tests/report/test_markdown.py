from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import lettered
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


def test_what_changed_comes_first_in_the_table() -> None:
    quiet, known = lettered.series("gg", issue="quiet"), lettered.series("bg", issue="known")
    members = [quiet, known, *(lettered.series("gb", issue="new", fixed={"python": p}) for p in ("3.10", "3.11"))]
    # A finding about the second of two series that are shown as one.
    told = render(lettered.report(*members, findings=(lettered.finding(members[3]),)), "markdown")
    rows = [line for line in told.split("\n\n", 1)[0].splitlines()[2:] if line.startswith("|")]
    assert [row.split("|")[1].partition("<br>")[0].strip() for row in rows] == ["new", "known", "quiet"]


def test_a_report_is_cut_before_a_summary_would_be_refused(report: Report) -> None:
    row = replace(report.cells[0], excluded=True)
    cells = tuple(replace(row, cell=f"cell-{number}", reason=f"reason {number} " * 50) for number in range(3000))
    rendered = render(replace(report, cells=cells), "markdown")
    assert len(rendered.encode()) <= BUDGET
    assert rendered.startswith("| issue")
    assert re.search(r"\n…\d+ rows more\n\n</details>\n\n<sub>started [^\n]*</sub>\n$", rendered)
    assert rendered.count("<details>") == rendered.count("</details>")


def test_a_table_that_is_too_long_keeps_its_first_rows_and_what_follows(report: Report) -> None:
    many = [replace(report.series[1], issue=f"issue-{number:05}") for number in range(9_000)]
    rendered = render(replace(report, series=(*many, *report.series)), "markdown")
    assert len(rendered.encode()) <= BUDGET + 100
    table, _, rest = rendered.partition("\n\n")
    rows = table.splitlines()[2:]
    assert rows[0].split("|")[1].strip().startswith(("[torchao-aqt-matmul-values]", "[torch-weights-only]"))
    assert rest.startswith(f"…{len(many) + 10 - len(rows)} rows more\n\n")
    assert "**regression: torch-weights-only is affected" in rest
    assert rendered.endswith("matrix 5b1c7f0e9ad2</sub>\n")
