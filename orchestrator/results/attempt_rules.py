"""Rules about an attempt as a whole: the first that applies decides for every probe of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model import Outcome
from orchestrator.results.evidence import Evidence, Finding
from orchestrator.results.junit import JUnitUnusableError
from orchestrator.results.signature import failure_signature

if TYPE_CHECKING:
    from collections.abc import Callable

OUT_OF_MEMORY = "SIGKILL (out of memory)"


def cancelled(evidence: Evidence) -> Finding | None:
    """The user stopped it."""
    return Finding(outcome=Outcome.NOT_RUN, message="the run was stopped") if evidence.raw.cancelled else None


def never_started(evidence: Evidence) -> Finding | None:
    """The engine could not start it."""
    if evidence.raw.started:
        return None
    return Finding(outcome=Outcome.INFRA, message=evidence.raw.failure or "the process never started")


def engine_failed(evidence: Evidence) -> Finding | None:
    """The engine lost it; what it left is not trusted."""
    failure = evidence.raw.failure
    return Finding(outcome=Outcome.INFRA, message=failure) if failure is not None else None


def another_attempt(evidence: Evidence) -> Finding | None:
    """The files are not this attempt's."""
    files = (evidence.preflight, evidence.session)
    if all(file is None or file.attempt == evidence.attempt for file in files):
        return None
    return Finding(outcome=Outcome.INFRA, message="the result directory holds files of another attempt")


def disk_full(evidence: Evidence) -> Finding | None:
    """The reports could not be written."""
    unwritten = evidence.session is None or isinstance(evidence.junit, JUnitUnusableError)
    stage = evidence.session.stage if evidence.session is not None else None
    if unwritten and stage != "preflight" and "No space left on device" in evidence.raw.log:
        return Finding(outcome=Outcome.INFRA, message="no space left on device")
    return None


def files_refused(evidence: Evidence) -> Finding | None:
    """A result file is something else than a plain file of sensible size."""
    if not evidence.raw.refused:
        return None
    reasons = "; ".join(f"{name}: {reason}" for name, reason in sorted(evidence.raw.refused.items()))
    return Finding(
        outcome=Outcome.ERROR,
        signature="result files were refused",
        message=f"result files were refused: {reasons}",
    )


def no_preflight(evidence: Evidence) -> Finding | None:
    """The payload died before it could say anything about the packages."""
    if evidence.preflight is not None:
        return None
    if evidence.raw.out_of_memory:
        return Finding(
            outcome=Outcome.ERROR, signature=OUT_OF_MEMORY, message="out of memory before any probe ran"
        )
    if evidence.raw.deadline_passed:
        return Finding(outcome=Outcome.INFRA, message="the deadline passed before any probe ran")
    status = evidence.raw.exit_code if evidence.raw.signal is None else f"signal {evidence.raw.signal}"
    reason = f"the payload ended ({status}) before it wrote preflight.json"
    return Finding(outcome=Outcome.INFRA, message=_with(reason, evidence.log_tail()))


def pins_replaced(evidence: Evidence) -> Finding | None:
    """Something else is installed than was locked."""
    replaced = [pin for pin in evidence.preflight.pins if pin.replaced] if evidence.preflight else []
    if not replaced:
        return None
    texts = [f"{pin.name} replaced: wanted {pin.wanted}, got {pin.found or 'nothing'}" for pin in replaced]
    return Finding(outcome=Outcome.BUILD_FAILED, signature=texts[0], message="; ".join(texts))


def import_failed(evidence: Evidence) -> Finding | None:
    """A package under test does not import."""
    for seen in evidence.preflight.imports if evidence.preflight else ():
        if seen.error is None:
            continue
        if evidence.raw.out_of_memory:
            # The limit's doing, not the packages'.
            return Finding(
                outcome=Outcome.ERROR, signature=OUT_OF_MEMORY, message=f"importing {seen.package}: {seen.error}"
            )
        return Finding(
            outcome=Outcome.INCOMPATIBLE,
            signature=failure_signature(seen.error),
            message=_with(f"importing {seen.package}: {seen.error}", evidence.log_tail()),
        )
    return None


RULES: tuple[Callable[[Evidence], Finding | None], ...] = (
    cancelled,
    never_started,
    engine_failed,
    another_attempt,
    disk_full,
    files_refused,
    no_preflight,
    pins_replaced,
    import_failed,
)


def _with(reason: str, detail: str | None) -> str:
    return f"{reason}\n{detail}" if detail else reason
