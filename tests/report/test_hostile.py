"""Texts that a probe, a package or a resolver may hand over, in every place of a report."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from orchestrator.model import CellRow, Moved, Outcome
from orchestrator.report import FORMATS, render

if TYPE_CHECKING:
    from orchestrator.model import Report, Series

HOSTILE = (
    "::error::made up by a probe\x1b[31m\x1b]0;owned\x07 \u202eevil\u2066 | pipe `tick` ``two``\r\n# heading\n"
    "<script>alert(1)</script></details> @everyone #1 GH-2 [click](javascript:alert(1)) "
    "![x](https://evil.example/x) https://evil.example www.evil.example "
    "**bold** ~~gone~~ $x$ ##[error]no \\ &lt; \ud800"
)


def hostile(series: Series) -> Series:
    points = tuple(replace(point, signature=HOSTILE, metrics={HOSTILE: 1.0}) for point in series.points)
    transitions = tuple(
        replace(
            one,
            culprit=(HOSTILE, *one.culprit) if one.after else (),
            moved=(Moved(name=HOSTILE, before=None, after=HOSTILE),),
            compare="javascript:alert(1)" if one.after else None,
            git_versions=(HOSTILE, HOSTILE),
        )
        for one in series.transitions
    )
    return replace(series, points=points, transitions=transitions, fixed={"python": HOSTILE})


@pytest.fixture
def evil(report: Report) -> Report:
    topics = {
        name: replace(topic, title=HOSTILE, link="javascript:alert(1)//](")
        for name, topic in report.issues.items()
    }
    row = CellRow(
        cell="cell",
        stack="torch-cpu",
        python="3.11",
        versions={"torch": HOSTILE},
        outcome=Outcome.UNRESOLVABLE,
        reason=HOSTILE * 40,
    )
    return replace(
        report,
        series=tuple(map(hostile, report.series)),
        findings=tuple(replace(finding, fixed={"python": HOSTILE}) for finding in report.findings),
        cells=(*report.cells, row),
        issues=topics,
        notices=(HOSTILE,),
        stacks={name: replace(setting, note=HOSTILE) for name, setting in report.stacks.items()},
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_no_control_or_formatting_character_comes_through(evil: Report, format_: str) -> None:
    rendered = render(evil, format_).replace("\n", "").replace("\N{ZERO WIDTH JOINER}", "")
    assert rendered.isprintable()
    rendered.encode()


@pytest.mark.parametrize("format_", FORMATS)
def test_no_line_is_a_command_to_a_workflow(evil: Report, format_: str) -> None:
    rendered = render(evil, format_)
    assert "made up by a probe" in rendered
    assert not [line for line in rendered.splitlines() if line.lstrip().startswith("::") or "##[" in line]


def test_the_json_is_whole(evil: Report) -> None:
    document = json.loads(render(evil, "json"))
    assert "<script>" in document["notices"][-1]


def test_a_long_reason_is_cut_for_people_and_whole_for_tools(evil: Report) -> None:
    assert len(json.loads(render(evil, "json"))["cells"][0]["reason"]) > 10_000
    assert max(map(len, render(evil, "text", width=100).splitlines())) <= 100


SUMMARY = re.compile(r"<summary>(.*?)</summary>")


def unescaped(markdown: str) -> str:
    """Return what is markup in Markdown: neither what is escaped, nor summaries, which are read as HTML alone."""
    markdown = SUMMARY.sub("<summary></summary>", markdown)
    return re.sub(r"\\[\\`*_\[\]<>|~&$#+=-]", "", markdown)


def test_markdown_keeps_its_structure(report: Report, evil: Report) -> None:
    good, bad = (render(one, "markdown") for one in (report, evil))
    assert bad.count("\n\n</details>") == good.count("\n\n</details>") == good.count("<details>")
    tables = [line for line in bad.splitlines() if line.startswith("|")]
    assert {unescaped(line).count("|") for line in tables[:12]} == {6}
    assert not re.search(r"^\s*(- )?#", bad, re.MULTILINE)


def test_markdown_has_no_markup_of_others(evil: Report) -> None:
    text = unescaped(render(evil, "markdown"))
    assert set(re.findall(r"</?\w+", text)) == {
        "<details",
        "</details",
        "<summary",
        "</summary",
        "<br",
        "<sub",
        "</sub",
    }
    assert not re.search(r"@\w|#\d|GH-\d|\]\(|https?://\w|www\.\w", text)
    assert "`" not in text
    assert "~~" not in text


def test_summaries_are_escaped_as_html(evil: Report) -> None:
    summaries = SUMMARY.findall(render(evil, "markdown"))
    assert any("&lt;script&gt;" in summary for summary in summaries)
    assert not [summary for summary in summaries if re.search(r"[<>]|@\w|&(?!\w+;|#x27;)", summary)]


def test_markdown_links_lead_to_the_web_only(evil: Report) -> None:
    assert "](" not in unescaped(render(evil, "markdown"))
