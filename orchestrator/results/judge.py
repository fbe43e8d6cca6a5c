"""The results of an issue's probes to one judgement: bad if any is bad, good only if all are good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from orchestrator.model import Judgement, Outcome, ProbeResult, Verdict
from orchestrator.results.signature import metric_signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.model import Issue, Threshold

_Reading = tuple[Outcome, Verdict, str | None]
"""Outcome, verdict and signature."""

_GOOD, _BAD, _UNKNOWN = Verdict.GOOD, Verdict.BAD, Verdict.UNKNOWN
_ABSENT, _TIMEOUT = Outcome.ABSENT, Outcome.TIMEOUT
_VERDICTS = {outcome: outcome.verdict for outcome in Outcome}
_SHOWING = frozenset((Outcome.FAIL, Outcome.CRASH))
_COMPARED = frozenset((Outcome.PASS, Outcome.FAIL))
_WORST = (Outcome.CRASH, Outcome.TIMEOUT, Outcome.FAIL, Outcome.ABSENT)
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


def judge(issue: Issue, results: Mapping[str, ProbeResult], attempt: str | None = None) -> Judgement:
    """Judge an issue in one cell by its probes' results of one attempt; a probe without one was not run."""
    probes = issue.probes
    if len(probes) == 1:
        return _judge_probe(issue, probes[0], results, attempt)
    return _together([_judge_probe(issue, probe, results, attempt) for probe in probes], attempt)


def _judge_probe(issue: Issue, probe: str, results: Mapping[str, ProbeResult], attempt: str | None) -> Judgement:
    result = results.get(probe)
    if result is None:
        return Judgement(outcome=Outcome.NOT_RUN, verdict=_UNKNOWN, attempt=attempt)
    outcome, verdict, signature = _read(issue, result)
    return Judgement(
        outcome=outcome,
        verdict=verdict,
        signature=signature,
        metrics=result.metrics,
        message=None if verdict is _GOOD else result.message,
        duration=result.duration,
        attempt=attempt,
    )


def _together(judged: Sequence[Judgement], attempt: str | None) -> Judgement:
    """Return what several probes come to: the worst that is bad, good only if all are."""
    bad = [one for one in judged if one.verdict is _BAD]
    unknown = [one for one in judged if one.verdict is _UNKNOWN]
    if bad:
        decisive = min(bad, key=lambda one: _WORST.index(one.outcome))
    elif unknown or not judged:
        nothing = Judgement(outcome=Outcome.NOT_RUN, verdict=_UNKNOWN)
        decisive = min(unknown, key=lambda one: _TELLING.index(one.outcome), default=nothing)
    else:
        decisive = judged[0]
    durations = [one.duration for one in judged if one.duration is not None]
    metrics = {name: value for one in judged for name, value in one.metrics.items()}
    return replace(decisive, metrics=metrics, duration=sum(durations) if durations else None, attempt=attempt)


def _read(issue: Issue, result: ProbeResult) -> _Reading:
    """Return what the result of one probe says of an issue."""
    outcome, signature = result.outcome, result.signature
    if outcome in _SHOWING and issue.shows is not None and not _shows(issue.shows, result):
        # Failing for another reason says nothing about this issue.
        outcome = Outcome.ERROR
    elif issue.threshold is not None and outcome in _COMPARED:
        outcome, signature = _compare(issue.threshold, result)
    verdict = _VERDICTS[outcome]
    if outcome is _ABSENT and issue.absent_is_bad:
        verdict = _BAD
    elif outcome is _TIMEOUT and not issue.timeout_is_bad:
        verdict = _UNKNOWN
    return outcome, verdict, signature


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
