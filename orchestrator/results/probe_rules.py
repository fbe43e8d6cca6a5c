"""Rules about one collected probe, in order: the first that applies decides; a pass is what none of them took."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orchestrator.model import Outcome
from orchestrator.results.attempt_rules import OUT_OF_MEMORY
from orchestrator.results.evidence import Evidence, Finding, excerpt
from orchestrator.results.junit import JUnitUnusableError
from orchestrator.results.reportlog import CRASHED, Phase
from orchestrator.results.signature import failure_signature, signal_signature

if TYPE_CHECKING:
    from collections.abc import Callable

PHASES = ("setup", "call", "teardown")
_TIMEOUT = re.compile(r"Failed: Timeout \(?>")
_EXIT = re.compile(r"SystemExit\b|RuntimeError: the probe called pytest\.exit|\[XPASS")
_SKIP = re.compile(r"(?:Skipped: )?(?P<word>absent|no-device): (?P<what>.*)", re.DOTALL)
_SIGKILL = 9
_ENDED_BY_US = (-2, -15, -_SIGKILL)
"""How a worker may die when the deadline of the whole attempt passes: SIGINT, SIGTERM, SIGKILL."""
_CONSISTENT_EXITS = (0, 1)
_EXIT_WORDS = {2: "interrupted", 3: "internal error", 4: "usage error", 5: "nothing collected"}


def process_died(evidence: Evidence, item: str) -> Finding | None:
    """Its process died while it ran: by hard deadline, by signal, or by leaving."""
    death = evidence.progress.death(item)
    if death is None or (evidence.raw.deadline_passed and death.status in _ENDED_BY_US):
        return None
    printed = evidence.printed(item)
    if death.traceback is not None:
        return Finding(
            outcome=Outcome.TIMEOUT,
            signature="hung: the process was killed at the hard deadline",
            message=excerpt(death.traceback),
        )
    if death.status is None:
        return Finding(
            outcome=Outcome.ERROR, signature="the process was lost while the probe ran", message=printed
        )
    if death.status < 0:
        return _signal(evidence, -death.status, printed)
    signature = f"the process exited with status {death.status} while the probe ran"
    return Finding(outcome=Outcome.ERROR, signature=signature, message=printed)


def attempt_ended_meanwhile(evidence: Evidence, item: str) -> Finding | None:
    """The whole attempt ended while it ran."""
    if evidence.progress.running(item) is None:
        return None
    printed = evidence.printed(item) or evidence.log_tail()
    if evidence.raw.deadline_passed:
        signature = "the attempt's deadline passed while the probe ran"
        return Finding(outcome=Outcome.TIMEOUT, signature=signature, message=printed)
    if evidence.killed_by is not None:
        return _signal(evidence, evidence.killed_by, printed)
    return None


def crash_without_record(evidence: Evidence, item: str) -> Finding | None:
    """The worker was reported dead, and nothing says how."""
    phase = evidence.phase(item, CRASHED)
    if phase is None:
        return None
    return Finding(outcome=Outcome.ERROR, signature="the process was lost while the probe ran", message=phase.text)


def timed_out(evidence: Evidence, item: str) -> Finding | None:
    """It passed its own deadline, in any phase."""
    for phase in evidence.phases(item):
        if phase.outcome == "failed" and _TIMEOUT.match(phase.headline):
            return Finding(outcome=Outcome.TIMEOUT, signature=f"timeout in {phase.when}", message=phase.text)
    return None


def not_collected(evidence: Evidence, item: str) -> Finding | None:
    """Its module did not import, or has no such probe."""
    if evidence.phases(item) or item in evidence.progress.runs:
        return None
    module = item.partition("::")[0]
    failed = evidence.report.collections.get(module)
    if failed is not None and failed.outcome == "skipped":
        return _skip(failed)
    if failed is not None:
        return Finding(outcome=Outcome.ERROR, signature=failure_signature(failed.headline), message=failed.text)
    collected = evidence.progress.collected
    if collected is not None and item not in collected:
        return Finding(outcome=Outcome.ERROR, signature=f"not collected: {module} has no such probe")
    return None


def not_started(evidence: Evidence, item: str) -> Finding | None:
    """The session ended before its turn."""
    if evidence.phases(item) or item in evidence.progress.runs:
        return None
    if evidence.cut_short:
        return Finding(outcome=Outcome.NOT_RUN, message="the attempt ended before this probe's turn")
    return _inconsistent(evidence, "the probe was never started")


def no_usable_junit(evidence: Evidence, item: str) -> Finding | None:
    """No JUnit file counts; what failed before an attempt was cut short did fail all the same."""
    if not isinstance(evidence.junit, JUnitUnusableError):
        return None
    if not evidence.cut_short:
        return _inconsistent(evidence, str(evidence.junit))
    if any(phase.outcome == "failed" for phase in evidence.phases(item)):
        return None
    return Finding(
        outcome=Outcome.NOT_RUN, message=f"the attempt ended before its results were complete: {evidence.junit}"
    )


def reports_disagree(evidence: Evidence, item: str) -> Finding | None:
    """The JUnit file and the report-log say different things of it."""
    if isinstance(evidence.junit, JUnitUnusableError):
        return None
    said, listed = _status(evidence, item), evidence.statuses(item)
    if said in (listed or {"nothing"}) and (said != "passed" or listed == {"passed"}):
        return None
    words = " and ".join(sorted(listed)) or "nothing"
    return Finding(
        outcome=Outcome.ERROR,
        signature="junit.xml and report.jsonl disagree",
        message=f"junit.xml says {words}, report.jsonl says {said}",
    )


def setup_failed(evidence: Evidence, item: str) -> Finding | None:
    """A fixture or a control failed: the probe's result would not count."""
    return _failure(evidence.phase(item, "setup"), Outcome.ERROR)


def call_failed(evidence: Evidence, item: str) -> Finding | None:
    """The probe's own assertion, or the library's error, says that the issue shows."""
    phase = evidence.phase(item, "call")
    # Leaving is no statement about values; neither is a failure that was declared to be one beforehand.
    left = phase is not None and (_EXIT.match(phase.headline) or phase.expected_failure)
    return _failure(phase, Outcome.ERROR if left else Outcome.FAIL)


def teardown_failed(evidence: Evidence, item: str) -> Finding | None:
    """It passed, and then its fixtures broke."""
    return _failure(evidence.phase(item, "teardown"), Outcome.ERROR)


def skipped(evidence: Evidence, item: str) -> Finding | None:
    """It skipped itself: the API is not in this version, or the device not on this host."""
    phase = next((phase for phase in evidence.phases(item) if phase.outcome == "skipped"), None)
    return _skip(phase) if phase is not None else None


def starved(evidence: Evidence, item: str) -> Finding | None:
    """It passed although the kernel killed something for want of memory."""
    run = evidence.progress.runs.get(item)
    kills = sum(run.oom_kills for run in evidence.progress.runs.values())
    killed = any(death.status == -_SIGKILL for death in evidence.progress.deaths.values())
    its_own = run is not None and run.oom_kills > 0
    if its_own or (evidence.raw.out_of_memory and not kills and not killed):
        signature = "out of memory: a process was killed while the probe ran"
        return Finding(outcome=Outcome.ERROR, signature=signature, message=evidence.printed(item))
    return None


def incomplete(evidence: Evidence, item: str) -> Finding | None:
    """A pass must be whole: every phase passed, and the probe seen to finish."""
    run = evidence.progress.runs.get(item)
    missing = [when for when in PHASES if evidence.phase(item, when) is None]
    if run is None or run.finished is None:
        missing.append("finish")
    if not evidence.report.finished:
        missing.append("the session's end")
    if any(phase.expected_failure for phase in evidence.phases(item)):
        return Finding(outcome=Outcome.ERROR, signature="xfail is not for probes: expectations live in the matrix")
    return _inconsistent(evidence, f"the probe has no record of: {', '.join(missing)}") if missing else None


def exit_inconsistent(evidence: Evidence, item: str) -> Finding | None:  # noqa: ARG001 - a rule like the others
    """A pass needs an exit status that agrees with what was reported: 0, or 1 with a failure elsewhere."""
    status = evidence.pytest_exit
    if evidence.cut_short:
        return Finding(outcome=Outcome.NOT_RUN, message="the attempt ended before its results were complete")
    if status != evidence.raw.exit_code:
        return _inconsistent(evidence, f"pytest ended with {status}, the attempt with {evidence.raw.exit_code}")
    if status not in _CONSISTENT_EXITS or bool(status) != bool(evidence.failures):
        return _inconsistent(evidence, f"{evidence.failures} failures were reported")
    return None


RULES: tuple[Callable[[Evidence, str], Finding | None], ...] = (
    process_died,
    attempt_ended_meanwhile,
    crash_without_record,
    not_collected,
    not_started,
    no_usable_junit,
    reports_disagree,
    timed_out,
    setup_failed,
    call_failed,
    teardown_failed,
    skipped,
    starved,
    incomplete,
    exit_inconsistent,
)


def _signal(evidence: Evidence, number: int, printed: str | None) -> Finding:
    if number == _SIGKILL and evidence.raw.out_of_memory:
        return Finding(outcome=Outcome.CRASH, signature=OUT_OF_MEMORY, message=printed)
    if number == _SIGKILL:
        # The kernel also kills when the host, not the cell, runs out.
        hint = "no memory limit was hit: see the host's kernel log for what sent it"
        printed = f"{hint}\n{printed}" if printed else hint
    return Finding(outcome=Outcome.CRASH, signature=signal_signature(number), message=printed)


def _failure(phase: Phase | None, outcome: Outcome) -> Finding | None:
    if phase is None or phase.outcome != "failed":
        return None
    # The headline first: an issue's `shows` is looked for in it, whatever the traceback was cut to.
    message = phase.text if phase.headline[:500] in phase.text else f"{phase.headline[:500]}\n{phase.text}"
    return Finding(outcome=outcome, signature=failure_signature(phase.headline), message=message)


def _skip(phase: Phase) -> Finding:
    match = _SKIP.match(phase.headline)
    if match is None or phase.expected_failure:
        reason = phase.headline.removeprefix("Skipped: ")
        return Finding(outcome=Outcome.ERROR, signature=failure_signature(f"skipped: {reason}"), message=reason)
    outcome = Outcome.ABSENT if match["word"] == "absent" else Outcome.NO_DEVICE
    return Finding(outcome=outcome, signature=failure_signature(match["what"]), message=match["what"])


def _status(evidence: Evidence, item: str) -> str:
    """Return the report-log's word for a probe in the words of JUnit."""
    failed = [phase.when for phase in evidence.phases(item) if phase.outcome == "failed"]
    if failed:
        return "failure" if "call" in failed else "error"
    return "skipped" if any(phase.outcome == "skipped" for phase in evidence.phases(item)) else "passed"


def _inconsistent(evidence: Evidence, what: str) -> Finding:
    status = evidence.pytest_exit
    if evidence.session is None:
        ending = f"the payload ended with {evidence.raw.exit_code} and wrote no session.json"
    else:
        words = _EXIT_WORDS.get(status or 0)
        ending = f"pytest ended with {status}" + (f" ({words})" if words else "")
    detail = evidence.log_tail()
    reason = f"{what}; {ending}"
    return Finding(
        outcome=Outcome.ERROR,
        signature=failure_signature(reason),
        message=f"{reason}\n{detail}" if detail else reason,
    )
