"""The report on a terminal: the answer first, then the grids, then the evidence."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tabulate import tabulate

from orchestrator.model import State, Verdict
from orchestrator.pinpoint import collapse
from orchestrator.report import certainty, coverage, evidence, layout, news, words
from orchestrator.report.clean import shorten
from orchestrator.report.grid import Grid, Mark, glyphs, grids
from orchestrator.report.layout import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from orchestrator.model import Report

    Style = Callable[[str, str], str]

_LABELS = 40
"""Columns for the names of a grid's rows, at most."""

_STATE_ROLES = {State.OK: "ok", State.AFFECTED: "affected", State.UNKNOWN: "unknown"}
_VERDICT_ROLES = {Verdict.GOOD: "ok", Verdict.BAD: "affected", Verdict.UNKNOWN: "unknown"}


def render(report: Report, width: int, style: Style) -> str:
    """Return a clean report as text. `style` gets a role and a text, and may put escape sequences around it."""
    shown = grids(report)
    sections = [
        # Who runs this every day wants to know first what is different from yesterday.
        news.block(report.since, width, style) if report.since else "",
        _answer(report, width, style),
        *_paragraphs((words.surprise(finding) for finding in report.findings), width, style, "finding"),
        *_paragraphs(
            [
                coverage.sentence(coverage.coverage(report.cells)),
                *([certainty.search(report.searched)] if report.searched else ()),
                *coverage.notices(report),
            ],
            width,
            style,
        ),
        *(_grid(grid, width, style) for grid in shown),
        _legend(glyphs(shown), width, style),
        _certainty(report, width, style),
        _evidence(report, width, style),
        _unknowns(report, width, style),
        *_paragraphs([words.provenance(report.provenance)], width, style, "muted"),
    ]
    return layout.finished("\n\n".join(filter(None, sections))) + "\n"


def _answer(report: Report, width: int, style: Style) -> str:
    rows: list[list[Text]] = []
    for group in collapse(report.series):
        shown = group.shown
        row = [
            Text(text=shown.issue, role="issue"),
            Text(text=words.now(shown), role=_STATE_ROLES[shown.state]),
        ]
        where = Text(text=words.where(group))
        for episode in words.episodes(shown):
            rows.append([*row, Text(text=episode.introduced), Text(text=episode.fixed), where])
            row, where = [Text(text=""), Text(text="")], Text(text="")
    if not rows:
        return "No issue has a cell here."
    table = layout.table(words.HEADERS, rows, width, style)
    if any(row[2].text.startswith("≤") for row in rows):
        table += "\n\n" + style("muted", words.SINCE_EARLIEST)
    return table


def _paragraphs(texts: Iterable[str], width: int, style: Style, role: str = "text") -> Iterator[str]:
    """One block of hanging paragraphs, or nothing."""
    block = [layout.paragraph(text, width, rest="  ") for text in texts]
    if block:
        yield "\n".join(style(role, line) for line in "\n".join(block).splitlines())


def _grid(grid: Grid, width: int, style: Style) -> str:
    also = f" ({grid.also})" if grid.also else ""
    blocks = list(_paragraphs([f"{grid.stack} along {grid.axis}{also}"], width, style, "heading"))
    labels = [layout.measured(shorten(row.label, min(_LABELS, width // 2))) for row in grid.rows]
    for columns in _blocks(grid, width - max(map(len, labels))):
        # No headers to tabulate, which would leave room around them.
        body = [
            ["", *(str(grid.versions[column]) for column in columns)],
        ]
        body += [
            [label, *(_mark(row.marks[column], style) for column in columns)]
            for label, row in zip(labels, grid.rows, strict=True)
        ]
        blocks.append(tabulate(body, tablefmt="plain", disable_numparse=True))
    return "\n".join(blocks)


def _blocks(grid: Grid, width: int) -> Iterator[list[int]]:
    """Split the columns of a grid into runs that fit the width."""
    block: list[int] = []
    left = width
    for column, version in enumerate(grid.versions):
        needed = len(str(version)) + layout.GAP
        if block and needed > left:
            yield block
            block, left = [], width
        block.append(column)
        left -= needed
    yield block


def _mark(mark: Mark | None, style: Style) -> str:
    if mark is None:
        return ""
    border = "│" if mark.border else layout.BLANK
    return border + style(_VERDICT_ROLES[mark.verdict], layout.measured(mark.glyph))


def _legend(used: Iterable[str], width: int, style: Style) -> str:
    entries = [f"{glyph} {words.LEGEND[glyph]}" for glyph in used]
    if not entries:
        return ""
    entries.append("│ the state changes here")
    # An entry stays whole.
    text = layout.paragraph("   ".join(entry.replace(" ", layout.BLANK) for entry in entries), width)
    return "\n".join(style("muted", line) for line in text.splitlines())


def _certainty(report: Report, width: int, style: Style) -> str:
    sentences = certainty.sentences(report)
    if not sentences:
        return ""
    lines = [layout.paragraph(sentence, width, rest="  ") for sentence in sentences]
    return "\n".join([style("heading", "Certainty"), *lines])


def _evidence(report: Report, width: int, style: Style) -> str:
    shown = evidence.exhibits(report)
    if not shown:
        return ""
    lines = [style("heading", "Evidence")]
    for exhibit in shown:
        lines.append(layout.paragraph(f"{exhibit.issue} {exhibit.change}, {exhibit.where}", width, rest="  "))
        lines += chain.from_iterable(_fact(fact, width) for fact in exhibit.facts)
    return "\n".join(lines)


def _fact(fact: evidence.Fact, width: int) -> Iterator[str]:
    first = f"    {fact.label + ':':<13}"
    if fact.is_link or fact.is_command:  # broken, neither can be pasted
        yield first + fact.text
    else:
        yield layout.paragraph(shorten(fact.text, words.LONGEST), width, first=first, rest=" " * 17)


def _unknowns(report: Report, width: int, style: Style) -> str:
    shown = evidence.unknowns(report)
    if not shown:
        return ""
    lines = [style("heading", "Unknown")]
    for unknown in shown:
        lines.append(layout.paragraph(f"{unknown.what}: {unknown.outcome}", width, rest="  "))
        if unknown.reason:
            lines.append(
                layout.paragraph(shorten(unknown.reason, words.LONGEST), width, first="    ", rest="    ")
            )
        lines += [style("muted", f"    | {shorten(line, width - 6)}") for line in unknown.log]
    return "\n".join(lines)
