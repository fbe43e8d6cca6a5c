"""What is affected, in the form of the Open Source Vulnerability format: https://ossf.github.io/osv-schema/."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from orchestrator.model import Verdict
from orchestrator.pinpoint import collapse
from orchestrator.report import words
from orchestrator.report.escape import is_web, markdown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.model import Report, Series, Topic, Transition
    from orchestrator.pinpoint import Group

SCHEMA_VERSION = "1.6.0"
"""Of the OSV format; nothing here needs a newer one."""

PREFIX = "MATRIX-"
"""Of every id. It belongs to no public database: these are issues of a matrix, not advisories."""

_DIGITS = 4
"""Of a probability."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def render(report: Report) -> str:
    """Return a clean report as a JSON array of OSV records: one per issue that any version is affected by."""
    return json.dumps(records(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def records(report: Report) -> list[dict[str, Any]]:
    """Return the records as `json.dumps` takes them, in the order of the report."""
    groups: dict[str, list[Group]] = {}
    for group in collapse(report.series):
        if group.shown.transitions:  # what was never bad affects nothing
            groups.setdefault(group.shown.issue, []).append(group)
    names = report.distributions
    return [_record(report, issue, members, names) for issue, members in groups.items()]


def _record(report: Report, issue: str, groups: Sequence[Group], names: Mapping[str, str]) -> dict[str, Any]:
    topic = report.issues.get(issue)
    return {
        "schema_version": SCHEMA_VERSION,
        "id": PREFIX + issue,
        "modified": _modified(report),
        "summary": topic.title if topic else issue,
        "details": "\n".join(_detail(group) for group in groups),
        "affected": [_affected(report, group, names) for group in groups],
        "references": _references(topic, groups),
        "database_specific": {"tool": report.provenance.tool, "matrix": report.provenance.matrix},
    }


def _modified(report: Report) -> str:
    """Return when this became known, which the format asks for: the run's start, else the newest measurement."""
    measured = [row.origin.started for row in report.cells if row.origin is not None]
    moment = report.provenance.started or max(measured, default=_EPOCH)
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _detail(group: Group) -> str:
    changes = "; ".join(words.change(transition) for transition in group.shown.transitions)
    return f"- {markdown(f'{words.where(group)}: {changes}')}"


def _affected(report: Report, group: Group, names: Mapping[str, str]) -> dict[str, Any]:
    shown = group.shown
    distribution = names.get(shown.axis)
    setting = report.stacks.get(shown.stack)
    package = {} if distribution is None else {"package": {"ecosystem": "PyPI", "name": distribution}}
    return {
        **package,
        "ranges": [{"type": "ECOSYSTEM", "events": [_event(one) for one in shown.transitions]}],
        "versions": _versions(shown, Verdict.BAD),
        "database_specific": {
            "stack": shown.stack,
            "device": None if setting is None else setting.device.value,
            "axis": shown.axis,
            "fixed": [dict(sorted(one.fixed.items())) for one in group.series if one.fixed],
            "state": shown.state.value,
            "earlier": _earlier(shown.transitions[0]),
            "unknown": _versions(shown, Verdict.UNKNOWN),
            "intervals": [_interval(one) for one in shown.transitions],
        },
    }


def _event(transition: Transition) -> dict[str, str]:
    """Return the end of an interval that is known to be in the new state; nothing is said to be bad since "0"."""
    return {transition.kind.value: str(transition.version)}


def _earlier(first: Transition) -> str | None:
    """Return what is known of the versions before the first bad one: null where a good one is among them."""
    if first.after is not None:
        return None
    return "absent" if first.since_api else "unknown"


def _interval(transition: Transition) -> dict[str, Any]:
    return {
        "kind": transition.kind.value,
        "after": None if transition.after is None else str(transition.after),
        "version": str(transition.version),
        "untested": [str(version) for version in transition.untested],
        "confidence": round(transition.confidence, _DIGITS),
    }


def _versions(series: Series, verdict: Verdict) -> list[str]:
    return [str(point.version) for point in series.points if point.verdict is verdict]


def _references(topic: Topic | None, groups: Sequence[Group]) -> list[dict[str, str]]:
    report = [("REPORT", topic.link)] if topic and topic.link else []
    compared = [("WEB", one.compare) for group in groups for one in group.shown.transitions if one.compare]
    pairs = dict.fromkeys((*report, *compared))
    return [{"type": kind, "url": url} for kind, url in pairs if is_web(url)]
