"""An issue to be pasted into an upstream tracker: what, since when, how to see it, and both environments."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from tabulate import tabulate

from orchestrator.model import Point, Verdict
from orchestrator.pinpoint import Group, collapse
from orchestrator.report import certainty, recipe, words
from orchestrator.report.budget import Section, fitted
from orchestrator.report.clean import clean_line, cleaned, shorten
from orchestrator.report.escape import in_html, link, markdown
from orchestrator.report.sides import Side, differing, sides
from orchestrator.report.snippet import probe_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestrator.model import Report, Topic, Transition

__all__ = ["LIMIT", "probe_source", "render"]

LIMIT = 60_000
"""Bytes of the page at most: GitHub refuses the text of an issue that has more than 65,536 characters."""

_NEIGHBOURS = 4
"""So many versions with the same result are named one by one."""

_CHANGES = 6
"""So many changes of one series are told, the newest."""

_ROWS = 40
"""So many results of one series are told, the newest."""


def render(report: Report, issue_id: str, sources: Mapping[str, str]) -> str:
    """Return one issue of a report as Markdown for an upstream tracker, its first line the title.

    Args:
        report: What is known; all text in it is made harmless.
        issue_id: Which issue.
        sources: By node id, what `probe_source` gives of the issue's probes; one that is missing is named only.

    Raises:
        ValueError: the report has no such issue.
    """
    report = cleaned(report)
    if issue_id not in report.issues:
        raise ValueError(f"the report has no issue {issue_id!r}")
    topic = report.issues[issue_id]
    groups = [group for group in collapse(report.series) if group.shown.issue == issue_id]
    known = [group for group in groups if any(p.verdict is not Verdict.UNKNOWN for p in group.shown.points)]
    reasons = {row.cell: row.reason for row in report.cells}
    found = {id(group): sides(report, group.shown) for group in known}
    files = recipe.file_names(topic.probes)
    sections = [
        Section(head=f"# {markdown(topic.title)}"),
        _summary(groups, topic),
        *(_versions(group, reasons) for group in known),
        *_reproduction(files, sources),
        *(_output(group, found[id(group)]) for group in known),
        *(_environments(group, found[id(group)]) for group in known),
        _repeat(issue_id, [one for group in known for one in found[id(group)]]),
    ]
    names = report.distributions
    for group in known:
        subject = names.get(group.shown.axis)
        sections += [_commands(group, one, names, subject, tuple(files.values())) for one in found[id(group)]]
    sections.append(Section(head=f"<sub>{in_html(words.provenance(report.provenance))}</sub>"))
    return fitted([section for section in sections if section.text], LIMIT, "an issue")


def _summary(groups: Sequence[Group], topic: Topic) -> Section:
    lines = []
    for group in groups:
        changes = group.shown.transitions
        earlier = [f"{len(changes) - _CHANGES} changes before"] if len(changes) > _CHANGES else []
        told = [words.now(group.shown), *earlier, *map(_change, changes[-_CHANGES:])]
        lines.append(f"- {markdown(words.where(group))}: {'; '.join(map(markdown, told))}")
        lines += [
            f"  - {link(one.compare.rpartition('/')[2], one.compare)}"
            for one in changes[-_CHANGES:]
            if one.compare is not None
        ]
    if topic.link is not None:
        lines.append(f"- See also {link(topic.link.partition('://')[2], topic.link)}")
    return Section(rows=tuple(lines or ["No version has been tested."]))


def _change(transition: Transition) -> str:
    text = f"{words.change(transition)}, {certainty.percent(transition.confidence)} sure"
    return f"{text}; that is commit {transition.commit}" if transition.commit else text


def _versions(group: Group, reasons: Mapping[str, str | None]) -> Section:
    """A table of what every version came to, neighbours with the same result in one row."""

    def result(point: Point) -> tuple[str, str]:
        shows = None if point.verdict is Verdict.GOOD else point.signature or reasons.get(point.cell)
        return f"{words.glyph(point)} {words.outcome(point.outcome)}", shorten(shows or "", words.LONGEST)

    rows = []
    for told, points in groupby(group.shown.points, key=result):
        versions = [str(point.version) for point in points]
        named = f"{versions[0]} … {versions[-1]} ({len(versions)} versions)"
        rows.append([words.conjunction(versions) if len(versions) <= _NEIGHBOURS else named, *told])
    if len(rows) > _ROWS:
        rows = [[f"…{len(rows) - _ROWS} results before", "", ""], *rows[-_ROWS:]]
    title = f"## Versions: {markdown(words.where(group))}"
    return _table(title, [group.shown.axis, "outcome", "shows"], rows)


def _reproduction(files: Mapping[str, str], sources: Mapping[str, str]) -> Iterator[Section]:
    for probe, file in files.items():
        source = sources.get(probe)
        if source is None:
            yield Section(head=f"## Reproduction\n\nThe probe is {markdown(probe)}.")
        else:
            lines = [clean_line(line) for line in source.splitlines()]
            yield Section(head=f"## Reproduction\n\n`{file}`, for pytest:\n\n{_fenced(lines, 'python')}")


def _output(group: Group, found: Sequence[Side]) -> Section:
    """What the bad side printed; of several versions with one signature, only the first keeps it."""
    shown = {one.point.signature for one in found if one.point.verdict is Verdict.BAD}
    point = next(
        (p for p in group.shown.points if p.verdict is Verdict.BAD and p.log and p.signature in shown), None
    )
    if point is None:
        return Section()
    title = f"## Output: {markdown(f'{words.where(group)}, {point.version}')}"
    return Section(head=f"{title}\n\n{_fenced([_inert(line) for line in point.log], 'text')}")


def _environments(group: Group, found: Sequence[Side]) -> Section:
    """What differs between the two sides, and what they ran on."""
    rows = [["Python", *(one.python for one in found)]]
    origins = [one.row.origin if one.row is not None else None for one in found]
    marks = [origin.fingerprint if origin is not None else None for origin in origins]
    rows.append(["device", *(mark.device if mark else words.NONE for mark in marks)])
    rows.append(["driver", *((mark.driver if mark else None) or words.NONE for mark in marks)])
    if any(mark and mark.firmware for mark in marks):
        rows.append(["firmware", *((mark.firmware if mark else None) or words.NONE for mark in marks)])
    rows.append(["kernel", *(mark.system if mark else words.NONE for mark in marks)])
    rows.append(["runtime", *(origin.runtime if origin else words.NONE for origin in origins)])
    if len(found) > 1 and all(one.pins for one in found):
        moved = differing(*found)
        rows += [[name, *(version or words.NONE for version in pair)] for name, pair in moved.items()]
    else:
        names = sorted({name for one in found if one.row for name in one.row.versions})
        rows += [[name, *(one.row.versions.get(name, "") if one.row else "" for one in found)] for name in names]
    headers = ["", *(f"{one.label}: {one.point.version}" for one in found)]
    title = "What differs" if len(found) > 1 else "Environment"
    return _table(f"## {title}: {markdown(words.where(group))}", headers, rows)


def _table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Section:
    escaped = [[markdown(text) for text in row] for row in (headers, *rows)]
    lines = tabulate(escaped[1:], headers=escaped[0], tablefmt="github", disable_numparse=True).splitlines()
    return Section(head="\n".join([title, "", *lines[:2], ""]), rows=tuple(lines[2:]))


def _repeat(issue: str, found: Sequence[Side]) -> Section:
    if not found:
        return Section()
    lines = [f"{words.repeat(one.point.cell, issue)}  # {one.label}, {one.point.version}" for one in found]
    return Section(head=f"## The same with matrix-orchestrator\n\n{_fenced(lines, 'sh')}")


def _commands(
    group: Group, side: Side, names: Mapping[str, str], subject: str | None, files: Sequence[str]
) -> Section:
    """A folded script that makes one side and runs the probe there: all that is installed, exactly."""
    summary = f"Commands for the {side.label} version, {side.point.version} ({words.where(group)})"
    script = recipe.script(side, names, subject, files)
    body = _fenced(script, "sh")
    return Section(head=f"<details><summary>{in_html(summary)}</summary>\n\n{body}\n\n</details>")


def _fenced(lines: Sequence[str], language: str) -> str:
    """Return lines in a fence that is longer than any run of backticks among them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + language, *lines, fence])


def _inert(line: str) -> str:
    # GitHub Actions takes a line that begins so for a command, wherever it is printed.
    return re.sub(r"^(\s*)::", r"\1: :", line)
