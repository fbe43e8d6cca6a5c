"""The report as GitHub-flavoured Markdown, for job summaries and pull requests."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from tabulate import tabulate

from orchestrator.pinpoint import collapse
from orchestrator.report import certainty, coverage, evidence, words
from orchestrator.report.clean import shorten
from orchestrator.report.escape import in_html, link, markdown
from orchestrator.report.grid import Grid, glyphs, grids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.model import Report

BUDGET = 900 * 1024
"""Bytes that a report takes at most: a GitHub job summary of more than 1 MiB is refused as a whole."""


def render(report: Report) -> str:
    """Return a clean report as Markdown, cut at the end where it would be longer than `BUDGET`."""
    shown = grids(report)
    sections = [
        _answer(report),
        _bullets(
            [
                *(f"**{markdown(words.surprise(finding))}**" for finding in report.findings),
                markdown(coverage.sentence(coverage.coverage(report.cells))),
                *([markdown(certainty.search(report.searched))] if report.searched else ()),
                *map(markdown, coverage.notices(report)),
            ]
        ),
        *(_grid(grid) for grid in shown),
        _legend(glyphs(shown)),
        _certainty(report),
        *_evidence(report),
        _unknowns(report),
        f"<sub>{in_html(words.provenance(report.provenance))}</sub>",
    ]
    return _within_budget([section for section in sections if section])


def _within_budget(sections: Sequence[str]) -> str:
    kept: list[str] = []
    left = BUDGET
    for number, section in enumerate(sections):
        left -= len(section.encode()) + 2
        if left < 0:
            kept.append(f"…{words.plural(len(sections) - number, 'section')} more than a summary can hold.")
            break
        kept.append(section)
    return "\n\n".join(kept) + "\n"


def _answer(report: Report) -> str:
    rows = []
    for group in collapse(report.series):
        shown = group.shown
        topic = report.issues.get(shown.issue)
        name = link(shown.issue, topic.link if topic else None)
        times = words.episodes(shown)
        rows.append(
            [
                f"{name}<br>{markdown(topic.title)}" if topic else name,
                markdown(words.now(shown)),
                "<br>".join(markdown(episode.introduced) for episode in times),
                "<br>".join(markdown(episode.fixed) for episode in times),
                markdown(words.where(group)),
            ]
        )
    if not rows:
        return "No issue has a cell here."
    note = f"\n\n<sub>{words.SINCE_EARLIEST}</sub>" if any("≤" in row[2] for row in rows) else ""
    return _table(words.HEADERS, rows) + note


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _grid(grid: Grid) -> str:
    also = f" ({grid.also})" if grid.also else ""
    rows = [
        [
            markdown(row.label),
            *(("│" if mark.border else "") + markdown(mark.glyph) if mark else "" for mark in row.marks),
        ]
        for row in grid.rows
    ]
    headers = [markdown(f"{grid.axis}"), *(markdown(str(version)) for version in grid.versions)]
    return f"**{markdown(grid.stack)}** along {markdown(grid.axis + also)}\n\n{_table(headers, rows)}"


def _legend(used: Iterable[str]) -> str:
    entries = [f"{markdown(glyph)} {words.LEGEND[glyph]}" for glyph in used]
    return f"<sub>{', '.join([*entries, '│ the state changes here'])}</sub>" if entries else ""


def _certainty(report: Report) -> str:
    sentences = certainty.sentences(report)
    return _details("How sure", [f"- {markdown(sentence)}" for sentence in sentences]) if sentences else ""


def _evidence(report: Report) -> Iterable[str]:
    """One folded block per issue and place."""
    for (issue, where), shown in groupby(evidence.exhibits(report), key=attrgetter("issue", "where")):
        lines = []
        for exhibit in shown:
            lines.append(f"- {markdown(exhibit.change)}")
            lines += [f"  - {_fact(fact)}" for fact in exhibit.facts]
        yield _details(f"Evidence: {issue} in {where}", lines)


def _fact(fact: evidence.Fact) -> str:
    text = (
        link(fact.text.rpartition("/")[2], fact.text)
        if fact.is_link
        else markdown(shorten(fact.text, words.LONGEST))
    )
    return f"{markdown(fact.label)}: {text}"


def _unknowns(report: Report) -> str:
    lines = [
        f"- {markdown(f'{unknown.what}: {unknown.outcome}')}"
        + (f"<br>{markdown(shorten(unknown.reason, words.LONGEST))}" if unknown.reason else "")
        + "".join(f"<br>{markdown(shorten(line, words.LONGEST))}" for line in unknown.log)
        for unknown in evidence.unknowns(report)
    ]
    return _details("Unknown, and why", lines) if lines else ""


def _details(summary: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"<details><summary>{in_html(summary)}</summary>\n\n{body}\n\n</details>"
