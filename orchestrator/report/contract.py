"""The report for other tools: JSON, exactly as docs/reference/report.md describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from orchestrator.codec import to_json
from orchestrator.model import Verdict
from orchestrator.report import coverage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.model import Belief, Cause, CellRow, Finding, Point, Report, Series, Transition

FORMAT = 1
"""Changes when a reader of the old format would misread the new one; new keys do not change it."""

_DIGITS = 4
"""Of a probability."""


def render(report: Report) -> str:
    """Return a clean report as one JSON document."""
    return json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def document(report: Report) -> dict[str, Any]:
    """Return what is written, as `json.dumps` takes it."""
    series = _sorted(report.series)
    return {
        "format": FORMAT,
        "results": [_result(one) for one in series],
        "findings": [_finding(one) for one in _sorted(report.findings)],
        "coverage": _coverage(report),
        "search": None if report.searched is None else to_json(report.searched),
        "notices": list(coverage.notices(report)),
        "evidence": [_evidence(one) for one in series],
        "issues": {name: {"title": t.title, "link": t.link} for name, t in sorted(report.issues.items())},
        "stacks": {name: {"device": s.device.value, "note": s.note} for name, s in sorted(report.stacks.items())},
        "cells": [_cell(row) for row in sorted(report.cells, key=lambda row: row.cell)],
        "run": to_json(report.provenance),
    }


def _sorted(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=lambda item: (item.issue, item.stack, sorted(item.fixed.items())))


def _result(series: Series) -> dict[str, Any]:
    return {
        "issue": series.issue,
        "stack": series.stack,
        "axis": series.axis,
        "fixed": dict(sorted(series.fixed.items())),
        "state": series.state.value,
        "transitions": [_transition(one) for one in series.transitions],
        "cells": {str(point.version): _point(point) for point in series.points},
    }


def _transition(transition: Transition) -> dict[str, Any]:
    written: dict[str, Any] = {
        "kind": transition.kind.value,
        "after": None if transition.after is None else str(transition.after),
        "version": str(transition.version),
        "untested": [str(version) for version in transition.untested],
        "confidence": round(transition.confidence, _DIGITS),
    }
    if transition.after is not None:
        if transition.compare is not None:
            written["compare"] = transition.compare
        written["culprit"] = list(transition.culprit)
    return written


def _point(point: Point) -> dict[str, Any]:
    signature = None if point.verdict is Verdict.GOOD else point.signature
    return {"outcome": point.outcome.value, "signature": signature, "cell": point.cell}


def _evidence(series: Series) -> dict[str, Any]:
    return {
        "issue": series.issue,
        "stack": series.stack,
        "axis": series.axis,
        "fixed": dict(sorted(series.fixed.items())),
        "transitions": [
            {
                "kind": transition.kind.value,
                "version": str(transition.version),
                "since_api": transition.since_api,
                "moved": [to_json(moved) for moved in transition.moved],
                "git_versions": list(transition.git_versions),
                "commit": transition.commit,
                "cause": None if transition.cause is None else _cause(transition.cause),
            }
            for transition in series.transitions
        ],
        "belief": None if series.belief is None else _belief(series.belief),
        "runs": {str(p.version): {"bad": p.bad, "good": p.good} for p in series.points if p.bad + p.good},
        "metrics": {str(p.version): to_json(dict(sorted(p.metrics.items()))) for p in series.points if p.metrics},
    }


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
    }
