"""Texts that a probe, a package or a resolver may hand over, in every place of a report."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from markup import xml
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
    points = tuple(structs.replace(point, signature=HOSTILE, metrics={HOSTILE: 1.0}) for point in series.points)
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
    rendered = render(evil, format_).replace("\r\n", "\n").replace("\n", "").replace("\N{ZERO WIDTH JOINER}", "")
    assert rendered.isprintable()
    rendered.encode()


@pytest.mark.parametrize("format_", [one for one in FORMATS if one != "github"])
def test_no_line_is_a_command_to_a_workflow(evil: Report, format_: str) -> None:
    rendered = render(evil, format_)
    assert "made up by a probe" in rendered or format_ == "badge"  # which shows no text of others
    assert not [line for line in rendered.splitlines() if line.lstrip().startswith("::") or "##[" in line]


def test_no_line_is_a_command_that_the_program_did_not_make(evil: Report) -> None:
    lines = render(evil, "github").splitlines()
    assert len(lines) == len(evil.findings)
    assert all(
        re.fullmatch("::error title=[^:,]+::(unexpected|regression): .*made up by a probe.*", one) for one in lines
    )
    assert not [line for line in lines if "##[" in line]


@pytest.mark.parametrize("format_", ["osv", "browser-compat"])
def test_documents_for_other_tools_are_whole(evil: Report, format_: str) -> None:
    def links(value: object) -> list[str]:
        if isinstance(value, list):
            return [link for item in value for link in links(item)]
        if isinstance(value, dict):
            return [str(item) for key, item in value.items() if key == "url"] + links(list(value.values()))
        return []

    assert not [link for link in links(json.loads(render(evil, format_))) if not link.startswith("https://")]


def test_what_others_read_as_html_or_markdown_is_escaped(evil: Report) -> None:
    (features,) = json.loads(render(evil, "browser-compat")).values()
    assert not [one for one in features.values() if re.search("[<>]", one["__compat"]["description"])]
    for record in json.loads(render(evil, "osv")):
        assert not re.search(r"@\w|</?\w|\]\(", unescaped(record["details"]))


def test_tables_and_constraints_keep_their_lines(report: Report, evil: Report) -> None:
    rows = [list(csv.reader(io.StringIO(render(one, "csv"), newline=""))) for one in (report, evil)]
    assert [len(one) for one in rows] == [len(rows[0])] * 2
    assert {len(row) for row in rows[1]} == {len(rows[1][0])}
    lines = [line for line in render(evil, "constraints").splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z-]+((!=|<=)[0-9.]+,?)+", line) for line in lines)
    assert len(lines) == 3


@pytest.mark.parametrize("format_", ["junit", "badge"])
def test_xml_is_whole(report: Report, evil: Report, format_: str) -> None:
    tags = [[node.tag for node in xml(render(one, format_)).iter()] for one in (report, evil)]
    assert set(tags[0]) == set(tags[1])


def test_the_json_is_whole(evil: Report) -> None:
    document = json.loads(render(evil, "json"))
    assert "<script>" in document["notices"][-1]


def test_a_long_reason_is_cut_for_people_and_whole_for_tools(evil: Report) -> None:
    assert len(json.loads(render(evil, "json"))["cells"][0]["reason"]) > 10_000
    lines = render(evil, "text", width=100).splitlines()
    assert max(len(line) for line in lines if "    repeat: " not in line) <= 100


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
    commands = r"^  - repeat: `orchestrator repro [a-z0-9._-]+ --issue [a-z0-9-]+ --run`$"
    assert "`" not in re.sub(commands, "", text, flags=re.MULTILINE)
    assert "~~" not in text


def test_summaries_are_escaped_as_html(evil: Report) -> None:
    summaries = SUMMARY.findall(render(evil, "markdown"))
    assert any("&lt;script&gt;" in summary for summary in summaries)
    assert not [summary for summary in summaries if re.search(r"[<>]|@\w|&(?!\w+;|#x27;)", summary)]


def test_markdown_links_lead_to_the_web_only(evil: Report) -> None:
    assert "](" not in unescaped(render(evil, "markdown"))
