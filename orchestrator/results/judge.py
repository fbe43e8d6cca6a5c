"""The results of an issue's probes to one judgement: bad if any is bad, good only if all are good."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from orchestrator.model import Judgement, Outcome, ProbeResult, Verdict
from orchestrator.results.signature import metric_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.model import Issue, Threshold

_BAD = (Outcome.CRASH, Outcome.TIMEOUT, Outcome.FAIL, Outcome.ABSENT)
_TELLING = (
    Outcome.ERROR,
    Outcome.TIMEOUT,
    Outcome.INCOMPATIBLE,
    Outcome.ABSENT,
    Outcome.UNRESOLVABLE,
    Outcome.BUILD_FAILED,
    Outcome.NO_DEVICE,
    Outcome.INFRA,
    Outcome.NOT_RUN,
    Outcome.PASS,
)
"""Outcomes that decide nothing, the most telling first."""


def judge(issue: Issue, results: Mapping[str, ProbeResult]) -> Judgement:
    """Judge an issue in one cell by its probes' results; a probe without one was not run."""
    judged = [
        _judge_probe(issue, results.get(probe) or ProbeResult(probe=probe, outcome=Outcome.NOT_RUN))
        for probe in issue.probes
    ]
    metrics = {name: value for one in judged for name, value in one.metrics.items()}
    bad = [one for one in judged if one.verdict is Verdict.BAD]
    if bad:
        decisive = min(bad, key=lambda one: _BAD.index(one.outcome))
    elif judged and all(one.verdict is Verdict.GOOD for one in judged):
        decisive = judged[0]
    else:
        unknown = [one for one in judged if one.verdict is Verdict.UNKNOWN]
        decisive = min(
            unknown,
            key=lambda one: _TELLING.index(one.outcome),
            default=Judgement(outcome=Outcome.NOT_RUN, verdict=Verdict.UNKNOWN),
        )
    return dataclasses.replace(decisive, metrics=metrics)


def _judge_probe(issue: Issue, result: ProbeResult) -> Judgement:
    outcome, signature = result.outcome, result.signature
    if outcome in (Outcome.FAIL, Outcome.CRASH) and issue.shows is not None and not _shows(issue.shows, result):
        # Failing for another reason says nothing about this issue.
        outcome = Outcome.ERROR
    elif outcome in (Outcome.PASS, Outcome.FAIL) and issue.threshold is not None:
        outcome, signature = _compare(issue.threshold, result)
    verdict = outcome.verdict
    if outcome is Outcome.ABSENT and issue.absent_is_bad:
        verdict = Verdict.BAD
    elif outcome is Outcome.TIMEOUT and not issue.timeout_is_bad:
        verdict = Verdict.UNKNOWN
    return Judgement(outcome=outcome, verdict=verdict, signature=signature, metrics=result.metrics)


def _shows(text: str, result: ProbeResult) -> bool:
    return any(text in said for said in (result.signature, result.message) if said)


def _compare(threshold: Threshold, result: ProbeResult) -> tuple[Outcome, str | None]:
    value = result.metrics.get(threshold.metric)
    if value is None:
        return Outcome.ERROR, f"no metric {threshold.metric!r} was recorded"
    # Not the other way round: NaN is at most nothing.
    if value <= threshold.above:
        return Outcome.PASS, None
    return Outcome.FAIL, metric_signature(threshold.metric, value)
