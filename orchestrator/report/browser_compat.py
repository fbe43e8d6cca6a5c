"""Where each issue is absent, as MDN's browser-compat-data tells where a feature is supported.

The feature is that it works; a stack stands for a browser. See https://github.com/mdn/browser-compat-data.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from orchestrator.model import Kind, Outcome, Verdict
from orchestrator.pinpoint import collapse, newest_known
from orchestrator.report import words
from orchestrator.report.escape import in_html, is_web

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.model import Point, Report, Series, Topic, Transition
    from orchestrator.pinpoint import Group

ROOT = "matrix"
"""The identifier that holds all features: a file of this kind has one."""

_AT_MOST = "≤"
"""Before a version: this one at the latest, possibly an earlier one."""


def render(report: Report) -> str:
    """Return a clean report as one JSON document of features, an issue each."""
    return json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def document(report: Report) -> dict[str, Any]:
    """Return the document as `json.dumps` takes it, features in the order of the report."""
    groups: dict[str, list[Group]] = {}
    for group in collapse(report.series):
        groups.setdefault(group.shown.issue, []).append(group)
    return {ROOT: {issue: {"__compat": _compat(report, issue, members)} for issue, members in groups.items()}}


def _compat(report: Report, issue: str, groups: Sequence[Group]) -> dict[str, Any]:
    topic = report.issues.get(issue)
    return {
        # Descriptions of this kind of data are read as HTML.
        "description": in_html(topic.title if topic else issue),
        **_url(topic),
        "support": {_browser(group, groups): _statement(group.shown) for group in groups},
        "status": {"experimental": False, "standard_track": False, "deprecated": False},
    }


def _url(topic: Topic | None) -> dict[str, str]:
    return {"url": topic.link} if topic is not None and topic.link and is_web(topic.link) else {}


def _browser(group: Group, groups: Sequence[Group]) -> str:
    """Return the stack, and the other axes' values where it has several answers."""
    stack = group.shown.stack
    alone = sum(other.shown.stack == stack for other in groups) == 1
    return stack if alone else f"{stack}, {words.combinations(group)}"


def _statement(series: Series) -> dict[str, Any] | list[dict[str, Any]]:
    """Return one statement per time that it worked, the newest first; a single one stands alone."""
    newest = newest_known(series.points)
    if newest is None:
        return _noted({"version_added": None}, [_outcomes("not known in", series.points)])
    statements = list(_worked(series))
    if not statements:
        statements = [_noted({"version_added": False}, [_failing(series)])]
    after = [point for point in series.points if point.version > newest.version]
    if after:
        notes = statements[-1].get("notes", [])
        told = [notes] if isinstance(notes, str) else notes
        statements[-1] = _noted(statements[-1], [*told, _outcomes("not known after that, in", after)])
    return statements[0] if len(statements) == 1 else statements[::-1]


def _worked(series: Series) -> Iterator[dict[str, Any]]:
    """Return a statement per time that it worked, the oldest first."""
    changes = list(series.transitions)
    begins: Transition | None = None
    first = next(point for point in series.points if point.verdict is not Verdict.UNKNOWN)
    if first.verdict is Verdict.BAD:
        changes = changes[1:]  # how long it had been bad is no matter of when it worked
        if not changes:
            return
        begins, *changes = changes
    while True:
        ends = changes.pop(0) if changes else None
        added = _first_good(series, first) if begins is None else _changed(begins)
        removed = {} if ends is None else {"version_removed": _changed(ends)}
        notes = [_gap(one) for one in (begins, ends) if one is not None and one.untested]
        earlier = [point for point in series.points if point.version < first.version] if begins is None else []
        if earlier:
            notes.insert(0, _outcomes("not known before that, in", earlier))
        yield _noted({"version_added": added, **removed}, notes)
        if not changes:
            return
        begins = changes.pop(0)


def _first_good(series: Series, first: Point) -> str:
    """Return the earliest version known, which is exact only where every one before it lacks the API."""
    earlier = {point.outcome for point in series.points if point.version < first.version}
    return f"{'' if earlier == {Outcome.ABSENT} else _AT_MOST}{first.version}"


def _changed(transition: Transition) -> str:
    return f"{_AT_MOST if transition.untested else ''}{transition.version}"


def _gap(transition: Transition) -> str:
    """Return an interval in words; notes are read as HTML, in which nothing of this is markup."""
    verb = "removed" if transition.kind is Kind.INTRODUCED else "added"
    untested = words.listed(transition.untested)
    return f"{verb} after {transition.after}, in {transition.version} at the latest: {untested} not known"


def _failing(series: Series) -> str:
    bad = [point.version for point in series.points if point.verdict is Verdict.BAD]
    return f"affected in {words.listed(bad)}"


def _outcomes(said: str, points: Sequence[Point]) -> str:
    parts: dict[Outcome, list[Point]] = {}
    for point in points:
        parts.setdefault(point.outcome, []).append(point)
    told = [
        f"{words.listed([point.version for point in members])} ({words.outcome(outcome)})"
        for outcome, members in parts.items()
    ]
    return f"{said} {words.conjunction(told)}" if told else "no version was tested"


def _noted(statement: dict[str, Any], notes: Sequence[str]) -> dict[str, Any]:
    """Add notes as the format wants them: one as a string, several as an array, none left out."""
    kept = {name: value for name, value in statement.items() if name != "notes"}
    if not notes:
        return kept
    return {**kept, "notes": notes[0] if len(notes) == 1 else list(notes)}
