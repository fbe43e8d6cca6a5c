"""The report for other tools: JSON, exactly as docs/reference/report.md describes it."""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from orchestrator.codec import to_json
from orchestrator.model import Outcome, Verdict
from orchestrator.report import coverage
from orchestrator.report.json_text import Items, Raw, compact, exact
from orchestrator.report.json_text import pieces as pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orchestrator.model import (
        Belief,
        Cause,
        CellRow,
        Comparison,
        Finding,
        Moved,
        Pin,
        Point,
        Report,
        Series,
        Topic,
        Transition,
    )
    from orchestrator.versions import Version

FORMAT = 1
"""Changes when a reader of the old format would misread the new one; new keys do not change it."""

_GOOD = Verdict.GOOD
_DIGITS = 4
"""Of a probability."""


def render(report: Report) -> str:
    """Return a clean report as one JSON document."""
    return b"".join(written(report, in_order(report.series))).decode()


def pieces(report: Report) -> Iterator[bytes]:
    """Return a clean report as that document in UTF-8, piece by piece: the whole takes more than what it tells."""
    return written(report, in_order(report.series))


def written(report: Report, series: Iterable[Series]) -> Iterator[bytes]:
    """Return `pieces` of a clean report whose sorted series come one by one."""
    return pieces_of(_members(report, series))


def _members(report: Report, series: Iterable[Series]) -> Iterator[tuple[str, Any]]:
    evidence: list[bytes] = []
    yield "format", FORMAT
    yield "results", Items(_results(series, evidence))
    yield "findings", [_finding(one) for one in in_order(report.findings)]
    yield "coverage", _coverage(report)
    yield "search", None if report.searched is None else exact(to_json(report.searched))
    yield "notices", list(coverage.notices(report))
    yield "evidence", Items(map(Raw, evidence))
    yield "since", None if report.since is None else comparison(report.since)
    yield "issues", {name: exact(_topic(topic)) for name, topic in sorted(report.issues.items())}
    yield "stacks", {name: {"device": s.device, "note": s.note} for name, s in sorted(report.stacks.items())}
    yield "cells", Items(exact(_cell(row)) for row in sorted(report.cells, key=lambda row: row.cell))
    yield "distributions", dict(sorted(report.distributions.items()))
    yield (
        "environments",
        {cell: [_pin(pin) for pin in pins] for cell, pins in sorted(report.environments.items())},
    )
    yield "run", to_json(report.provenance)


def _results(series: Iterable[Series], evidence: list[bytes]) -> Iterator[dict[str, Any]]:
    """Return each series as it is written; `evidence` gets what is written of it further down, as JSON.

    Both are made at once, because reading a million points a second time takes as long as writing them.
    """
    texts = _Texts()
    for one in series:
        versions = texts.of([point.version for point in one.points])
        yield _result(one, versions, texts)
        evidence.append(compact(_evidence(one, versions, texts)))


class _Texts:
    """Versions as text. A report has the same few many times, and writing one takes longer than finding it."""

    def __init__(self) -> None:
        # By identity, for versions that are equal may be written differently; the report keeps them alive.
        self._known: dict[int, str] = {}

    def of(self, versions: Iterable[Version]) -> list[str]:
        """Return each version as text."""
        known = self._known
        return [known.get(id(one)) or known.setdefault(id(one), str(one)) for one in versions]


def in_order(items: Iterable[Any]) -> list[Any]:
    """Return series or findings in the order in which they are written."""
    return sorted(items, key=lambda item: (item.issue, item.stack, sorted(item.fixed.items())))


class _Cell(Struct, gc=False):
    """A point as it is written. A report has a million, and a struct is made and written sooner than a dict."""

    outcome: Outcome
    signature: str | None
    cell: str


@cache
def _runs(bad: int, good: int) -> Raw:
    """Return how many runs came out how, as it is written: mostly there was one."""
    return Raw(compact({"bad": bad, "good": good}))


def _result(series: Series, versions: Sequence[str], texts: _Texts) -> dict[str, Any]:
    return {
        "issue": series.issue,
        "stack": series.stack,
        "axis": series.axis,
        "fixed": dict(sorted(series.fixed.items())),
        "state": series.state,
        "transitions": [_transition(one, texts) for one in series.transitions],
        "cells": {
            version: _Cell(p.outcome, None if p.verdict is _GOOD else p.signature, p.cell)
            for version, p in zip(versions, series.points, strict=True)
        },
    }


def _transition(transition: Transition, texts: _Texts) -> dict[str, Any]:
    written: dict[str, Any] = {
        "kind": transition.kind,
        "after": None if transition.after is None else texts.of([transition.after])[0],
        "version": texts.of([transition.version])[0],
        "untested": texts.of(transition.untested),
        "confidence": round(transition.confidence, _DIGITS),
    }
    if transition.after is not None:
        if transition.compare is not None:
            written["compare"] = transition.compare
        written["culprit"] = list(transition.culprit)
    return written


def _point(point: Point) -> dict[str, Any]:
    signature = None if point.verdict is Verdict.GOOD else point.signature
    return {"outcome": point.outcome, "signature": signature, "cell": point.cell}


def _evidence(series: Series, versions: Sequence[str], texts: _Texts) -> dict[str, Any]:
    told = list(zip(versions, series.points, strict=True))
    return {
        "issue": series.issue,
        "stack": series.stack,
        "axis": series.axis,
        "fixed": dict(sorted(series.fixed.items())),
        "transitions": [
            {
                "kind": transition.kind,
                "version": texts.of([transition.version])[0],
                "since_api": transition.since_api,
                "moved": [_moved(moved) for moved in transition.moved],
                "git_versions": list(transition.git_versions),
                "commit": transition.commit,
                "cause": None if transition.cause is None else _cause(transition.cause),
            }
            for transition in series.transitions
        ],
        "belief": None if series.belief is None else _belief(series.belief),
        "runs": {version: _runs(p.bad, p.good) for version, p in told if p.bad or p.good},
        "metrics": {version: exact(_metrics(p)) for version, p in told if p.metrics},
        "logs": {version: list(p.log) for version, p in told if p.log},
    }


def _metrics(point: Point) -> dict[str, Any]:
    metrics = point.metrics
    names = sorted(metrics) if len(metrics) > 1 else metrics
    return {name: metrics[name] if isfinite(metrics[name]) else to_json(metrics[name]) for name in names}


def _moved(moved: Moved) -> dict[str, Any]:
    return {"name": moved.name, "before": moved.before, "after": moved.after}


def _pin(pin: Pin) -> dict[str, Any]:
    return {"name": pin.name, "version": pin.version, "index": pin.index}


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "kind": cause.kind.value,
        "packages": list(cause.packages),
        "probability": round(cause.probability, _DIGITS),
        "alternatives": [
            {"packages": list(one), "probability": round(chance, _DIGITS)} for one, chance in cause.alternatives
        ],
        "differing": list(cause.differing),
        "witnesses": [to_json(witness) for witness in cause.witnesses],
        "cells": cause.cells,
        "uninstallable": cause.uninstallable,
    }


def _belief(belief: Belief) -> dict[str, Any]:
    gap = belief.gap
    return {
        "probability": round(belief.probability, _DIGITS),
        "runs": belief.runs,
        "flaky": belief.flaky,
        "false_fail": round(belief.false_fail, _DIGITS),
        "false_pass": round(belief.false_pass, _DIGITS),
        "hidden": round(belief.hidden, _DIGITS),
        "gap": None
        if gap is None
        else {
            "after": str(gap.after),
            "before": str(gap.before),
            "untested": gap.untested,
            "hidden": round(gap.hidden, _DIGITS),
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "issue": finding.issue,
        "stack": finding.stack,
        "axis": finding.axis,
        "fixed": dict(sorted(finding.fixed.items())),
        "state": finding.state.value,
        "expected": None if finding.expected is None else finding.expected.value,
        "version": str(finding.version),
        "since": None if finding.since is None else str(finding.since),
        "new": finding.new,
    }


def comparison(compared: Comparison) -> dict[str, Any]:
    """Return what differs between two runs, as `json.dumps` takes it."""
    return {
        "old": to_json(compared.old),
        "new": to_json(compared.new),
        "compared": compared.compared,
        "differences": [to_json(one) for one in compared.differences],
        "shifts": [to_json(one) for one in compared.shifts],
    }


def _coverage(report: Report) -> dict[str, Any]:
    counts = coverage.coverage(report.cells)
    return {
        "cells": counts.cells,
        "measured": counts.measured,
        "excluded": counts.excluded,
        "unmeasured": {outcome.value: count for outcome, count in counts.unmeasured.items()},
    }


def _cell(row: CellRow) -> dict[str, Any]:
    status = "excluded" if row.excluded else "measured" if row.outcome is None else row.outcome.value
    return {
        "cell": row.cell,
        "stack": row.stack,
        "python": row.python,
        "versions": dict(sorted(row.versions.items())),
        "status": status,
        "reason": row.reason,
        "log": list(row.log),
        "lock": row.lock,
        "measured": None if row.origin is None else to_json(row.origin),
        "neighbours": {
            axis: {"cell": one.cell, "moved": [_moved(moved) for moved in one.moved]}
            for axis, one in sorted(row.neighbours.items())
        },
    }


def cell(report: Report, row: CellRow) -> dict[str, Any]:
    """Return one cell of a clean report and what the issues came to there, as `json.dumps` takes it."""
    points = [(series, point) for series in report.series for point in series.points if point.cell == row.cell]
    results = {
        series.issue: {
            **_point(point),
            "metrics": _metrics(point),
            "duration": point.duration,
            "attempt": point.attempt,
        }
        for series, point in points
    }
    return {"format": FORMAT, **_cell(row), "results": results}


def _topic(topic: Topic) -> dict[str, Any]:
    return {
        "title": topic.title,
        "link": topic.link,
        "probes": list(topic.probes),
        "expect": None if topic.expect is None else topic.expect.value,
        "threshold": None if topic.threshold is None else to_json(topic.threshold),
    }
