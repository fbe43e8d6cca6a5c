"""One attempt to one result per expected probe, by two ordered tables of rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from orchestrator.model import Import, Outcome, ProbeResult
from orchestrator.results import attempt_rules, probe_rules
from orchestrator.results.evidence import Evidence, Finding, gather
from orchestrator.results.preflight import read_preflight

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestrator.execute.port import RawAttempt

SEVERITY = (
    Outcome.CRASH,
    Outcome.TIMEOUT,
    Outcome.FAIL,
    Outcome.ERROR,
    Outcome.INCOMPATIBLE,
    Outcome.UNRESOLVABLE,
    Outcome.BUILD_FAILED,
    Outcome.INFRA,
    Outcome.NOT_RUN,
    Outcome.NO_DEVICE,
    Outcome.ABSENT,
    Outcome.PASS,
)
"""Outcomes, the worst first: what a probe with several parametrisations comes to."""


def classify(raw: RawAttempt, *, attempt: str, nodeids: Sequence[str]) -> tuple[ProbeResult, ...]:
    """Return the result of every expected probe, in the given order.

    An expected node id is met by the probe of that name or by all its parametrisations, of which the worst
    outcome counts. Nothing that an attempt leaves can make this raise.
    """
    evidence = gather(raw, attempt)
    for rule in attempt_rules.RULES:
        finding = rule(evidence)
        if finding is not None:
            return tuple(blanket(nodeids, finding.outcome, finding.message, signature=finding.signature).values())
    return tuple(_probe(evidence, nodeid) for nodeid in nodeids)


def blanket(
    probes: Iterable[str], outcome: Outcome, reason: str | None, *, signature: str | None = None
) -> dict[str, ProbeResult]:
    """Return one and the same outcome for every probe, by probe."""
    return {
        probe: ProbeResult(
            probe=probe, outcome=outcome, signature=signature or _first_line(reason), message=reason
        )
        for probe in probes
    }


def imports(raw: RawAttempt) -> tuple[Import, ...]:
    """Return what the import pre-flight saw of each package under test; empty where it did not come to it."""
    preflight = read_preflight(raw.artifacts)
    return preflight.imports if preflight is not None else ()


def runtime_versions(raw: RawAttempt) -> dict[str, str]:
    """Return the device's libraries inside the environment, with their versions, as far as the payload told."""
    preflight = read_preflight(raw.artifacts)
    return dict(preflight.runtime) if preflight is not None else {}


def _probe(evidence: Evidence, nodeid: str) -> ProbeResult:
    items = evidence.items(nodeid) or (nodeid,)
    findings = {item: _item(evidence, item) for item in items}
    worst = min(findings, key=lambda item: SEVERITY.index(findings[item].outcome))
    finding = findings[worst]
    message = finding.message
    if worst != nodeid and finding.outcome is not Outcome.PASS:
        message = f"{worst}\n{message}" if message else worst
    durations = [seconds for item in items if (seconds := _duration(evidence, item)) is not None]
    return ProbeResult(
        probe=nodeid,
        outcome=finding.outcome,
        signature=finding.signature,
        message=message,
        duration=round(sum(durations), 6) if durations else None,
        metrics=_worst_metrics(_metrics(evidence, item) for item in items),
    )


def _item(evidence: Evidence, item: str) -> Finding:
    for rule in probe_rules.RULES:
        finding = rule(evidence, item)
        if finding is not None:
            return finding
    return Finding(outcome=Outcome.PASS)


def _duration(evidence: Evidence, item: str) -> float | None:
    run = evidence.progress.runs.get(item)
    if run is None:
        return None
    death = evidence.progress.death(item)
    end = run.finished if run.finished is not None else death.time if death is not None else None
    return max(0.0, end - run.started) if end is not None else None


def _metrics(evidence: Evidence, item: str) -> dict[str, float]:
    return {
        name: float(value)
        for phase in evidence.phases(item)
        for name, value in phase.properties
        if isinstance(value, (int, float))
    }


def _worst_metrics(metrics: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Keep the largest of each, as a threshold is an upper one; a number that is none is worse than any."""
    worst: dict[str, float] = {}
    for each in metrics:
        for name, value in each.items():
            if name not in worst or math.isnan(value) or value > worst[name]:
                worst[name] = value
    return worst


def _first_line(reason: str | None) -> str | None:
    return reason.strip().splitlines()[0][:200] if reason and reason.strip() else None
