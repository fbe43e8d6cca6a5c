"""The report as JUnit XML, for dashboards that know nothing of versions: red is only what nobody expected."""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from orchestrator.model import Outcome, Surprise, Verdict
from orchestrator.report import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestrator.model import CellRow, Finding, Point, Report, Series

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, however it is written."""

_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)
"""Where a line begins as a command to GitHub Actions does."""

_BROKEN = (Outcome.BUILD_FAILED, Outcome.INFRA)
"""What is no fact about the versions, and is to be repaired."""

_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def render(report: Report) -> str:
    """Return a clean report as one JUnit document: a suite per stack, a case per issue and version."""
    root = ET.Element("testsuites", name="matrix-orchestrator")
    findings = {_key(finding): finding for finding in report.findings}
    stacks: dict[str, list[Series]] = {}
    for series in report.series:
        stacks.setdefault(series.stack, []).append(series)
    cells = {row.cell: row for row in report.cells}
    for stack, members in stacks.items():
        suite = ET.SubElement(root, "testsuite", name=_legal(stack))
        _properties(suite, _suite(report, stack))
        for series in members:
            finding = findings.get(_key(series))
            suite.extend(_case(series, point, finding, cells.get(point.cell)) for point in series.points)
        _count(suite, report)
    for name in ("tests", *_COUNTS):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", _seconds(float(suite.get("time", "0")) for suite in root))
    ET.indent(root)
    # Written as a reference, a colon is the same colon to who reads XML, and no command to who logs it.
    body = _COMMAND.sub(r"\1&#58;", ET.tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _key(one: Series | Finding) -> tuple[object, ...]:
    return one.issue, one.stack, one.axis, *sorted(one.fixed.items())


def _suite(report: Report, stack: str) -> Iterator[tuple[str, str | None]]:
    setting = report.stacks.get(stack)
    if setting is not None:
        yield "device", setting.device.value
        yield "note", setting.note
    yield "tool", report.provenance.tool
    yield "matrix", report.provenance.matrix
    yield "runtime", report.provenance.runtime


def _count(suite: ET.Element, report: Report) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, tag in _COUNTS.items():
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", _seconds(float(case.get("time", "0")) for case in cases))
    if report.provenance.started is not None:
        suite.set("timestamp", report.provenance.started.astimezone(UTC).isoformat(timespec="seconds"))
    if report.provenance.host is not None:
        suite.set("hostname", _legal(report.provenance.host))


def _case(series: Series, point: Point, finding: Finding | None, row: CellRow | None) -> ET.Element:
    name = f"{series.axis} {point.version}{_combination(series.fixed)}"
    case = ET.Element("testcase", classname=_legal(f"{series.stack}.{series.issue}"), name=_legal(name))
    if point.duration is not None:
        case.set("time", _seconds([point.duration]))
    _properties(case, _case_properties(point))
    # The newest known version is the only one where a state can be unexpected; older ones are history.
    at_the_end = finding if finding is not None and finding.version == point.version else None
    if point.verdict is Verdict.UNKNOWN:
        reason = point.signature or (row.reason if row is not None else None)
        told = ": ".join(filter(None, (words.outcome(point.outcome), reason)))
        tag = "error" if point.outcome in _BROKEN else "skipped"
        _described(case, tag, point.outcome.value, told, row.log if row is not None else ())
    elif at_the_end is not None and at_the_end.kind is not Surprise.FIXED:
        _described(case, "failure", at_the_end.kind.value, words.surprise(at_the_end), _lines(point))
    elif at_the_end is not None:
        ET.SubElement(case, "system-out").text = _legal(words.surprise(at_the_end))
    elif point.verdict is Verdict.BAD:
        lines = ["affected, which is known or expected", *_lines(point)]
        ET.SubElement(case, "system-out").text = _legal("\n".join(lines))
    return case


def _case_properties(point: Point) -> Iterator[tuple[str, str | None]]:
    yield "verdict", point.verdict.value
    yield "outcome", point.outcome.value
    yield "signature", None if point.verdict is Verdict.GOOD else point.signature
    yield "cell", point.cell
    yield "attempt", point.attempt
    yield from ((f"metric:{name}", repr(value)) for name, value in sorted(point.metrics.items()))


def _described(case: ET.Element, tag: str, kind: str, message: str, lines: Sequence[str]) -> None:
    element = ET.SubElement(case, tag, type=_legal(kind), message=_legal(message))
    element.text = _legal("\n".join(lines)) or None


def _lines(point: Point) -> list[str]:
    return [point.signature or words.outcome(point.outcome), *point.log]


def _combination(fixed: Mapping[str, str]) -> str:
    return f" ({', '.join(f'{name} {value}' for name, value in sorted(fixed.items()))})" if fixed else ""


def _properties(parent: ET.Element, pairs: Iterator[tuple[str, str | None]]) -> None:
    group = ET.SubElement(parent, "properties")
    for name, value in pairs:
        if value:
            ET.SubElement(group, "property", name=_legal(name), value=_legal(value))


def _seconds(durations: Iterator[float] | Sequence[float]) -> str:
    return f"{sum(durations):.3f}"


def _legal(text: str) -> str:
    return _FORBIDDEN.sub("", text)
