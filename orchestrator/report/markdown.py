"""The report as GitHub-flavoured Markdown, for job summaries and pull requests."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from tabulate import tabulate

from orchestrator.pinpoint import collapse
from orchestrator.report import certainty, coverage, evidence, news, words
from orchestrator.report.budget import Section, fitted
from orchestrator.report.clean import shorten
from orchestrator.report.escape import in_html, link, markdown
from orchestrator.report.grid import Grid, glyphs, grids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.model import Finding, Report, Series
    from orchestrator.pinpoint import Group

BUDGET = 900 * 1024
"""Bytes that a report takes at most: a GitHub job summary of more than 1 MiB is refused as a whole."""


def render(report: Report) -> str:
    """Return a clean report as Markdown, cut where it would be longer than `BUDGET`."""
    shown = grids(report)
    sections = [
        Section(head=news.markdown(report.since).rstrip() if report.since else ""),
        *_answer(report),
        _bullets(
            [
                *(f"**{markdown(words.surprise(finding))}**" for finding in report.findings),
                markdown(coverage.sentence(coverage.coverage(report.cells))),
                *([markdown(certainty.search(report.searched))] if report.searched else ()),
                *map(markdown, coverage.notices(report)),
            ]
        ),
        *(_grid(grid) for grid in shown),
        Section(head=_legend(glyphs(shown))),
        _certainty(report),
        *_evidence(report),
        _unknowns(report),
        Section(head=f"<sub>{in_html(words.provenance(report.provenance))}</sub>"),
    ]
    return fitted([section for section in sections if section.text], BUDGET, "a summary")


def _answer(report: Report) -> Iterable[Section]:
    """The table of the answer, what changed first, and what explains its signs."""
    rows = []
    for group in _changed_first(report):
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
        yield Section(head="No issue has a cell here.")
        return
    yield _table("", words.HEADERS, rows)
    if any("≤" in row[2] for row in rows):
        yield Section(head=f"<sub>{words.SINCE_EARLIEST}</sub>")


def _changed_first(report: Report) -> list[Group]:
    """Return the groups with a finding, then those whose state changes, then the rest."""
    unexpected = {_place(finding) for finding in report.findings}

    def rank(group: Group) -> int:
        if any(_place(series) in unexpected for series in group.series):
            return 0
        return 1 if group.shown.transitions else 2

    return sorted(collapse(report.series), key=rank)


def _place(one: Series | Finding) -> tuple[object, ...]:
    return one.issue, one.stack, one.axis, *sorted(one.fixed.items())


def _table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Section:
    lines = tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True).splitlines()
    return Section(head="\n".join([*([title, ""] if title else []), *lines[:2], ""]), rows=tuple(lines[2:]))


def _bullets(lines: Iterable[str]) -> Section:
    return Section(rows=tuple(f"- {line}" for line in lines))


def _grid(grid: Grid) -> Section:
    also = f" ({grid.also})" if grid.also else ""
    rows = [
        [
            markdown(row.label),
            *(("│" if mark.border else "") + markdown(mark.glyph) if mark else "" for mark in row.marks),
        ]
        for row in grid.rows
    ]
    headers = [markdown(f"{grid.axis}"), *(markdown(str(version)) for version in grid.versions)]
    return _table(f"**{markdown(grid.stack)}** along {markdown(grid.axis + also)}", headers, rows)


def _legend(used: Iterable[str]) -> str:
    entries = [f"{markdown(glyph)} {words.LEGEND[glyph]}" for glyph in used]
    return f"<sub>{', '.join([*entries, '│ the state changes here'])}</sub>" if entries else ""


def _certainty(report: Report) -> Section:
    return _details("How sure", [f"- {markdown(sentence)}" for sentence in certainty.sentences(report)])


def _evidence(report: Report) -> Iterable[Section]:
    """One folded block per issue and place."""
    for (issue, where), shown in groupby(evidence.exhibits(report), key=attrgetter("issue", "where")):
        lines = []
        for exhibit in shown:
            lines.append(f"- {markdown(exhibit.change)}")
            lines += [f"  - {_fact(fact)}" for fact in exhibit.facts]
        yield _details(f"Evidence: {issue} in {where}", lines)


def _fact(fact: evidence.Fact) -> str:
    if fact.is_link:
        text = link(fact.text.rpartition("/")[2], fact.text)
    elif fact.is_command and "`" not in fact.text:  # to be pasted, so nothing in it may be escaped
        text = f"`{fact.text}`"
    else:
        text = markdown(shorten(fact.text, words.LONGEST))
    return f"{markdown(fact.label)}: {text}"


def _unknowns(report: Report) -> Section:
    lines = [
        f"- {markdown(f'{unknown.what}: {unknown.outcome}')}"
        + (f"<br>{markdown(shorten(unknown.reason, words.LONGEST))}" if unknown.reason else "")
        + "".join(f"<br>{markdown(shorten(line, words.LONGEST))}" for line in unknown.log)
        for unknown in evidence.unknowns(report)
    ]
    return _details("Unknown, and why", lines)


def _details(summary: str, lines: Sequence[str]) -> Section:
    """A folded block; nothing where there are no lines."""
    if not lines:
        return Section()
    head = f"<details><summary>{in_html(summary)}</summary>\n\n"
    return Section(head=head, rows=tuple(lines), tail="\n\n</details>")
