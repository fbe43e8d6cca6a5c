"""Everything that is known of one attempt, read and not yet judged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from orchestrator.execute.port import RawAttempt
from orchestrator.model import Outcome
from orchestrator.results.junit import Case, JUnitUnusableError, address, read_junit
from orchestrator.results.preflight import Preflight, Session, read_preflight, read_session
from orchestrator.results.progress import Progress, read_progress
from orchestrator.results.reportlog import Phase, ReportLog, read_report_log

MAX_EXCERPT = 2000
_OTHERS = re.compile(r"^(?:\[probe\] |\[gw\d+\] node down: )", re.MULTILINE)
"""Where in the log the output of a probe ends: at the next one, or where xdist tells that it died."""
_SIGNAL_EXITS = range(129, 193)
"""What a shell, an init or an engine makes of a process that a signal ended: 128 + its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule concludes."""

    outcome: Outcome
    signature: str | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One attempt's artifacts, read. `junit` is the reason where there are no cases that count."""

    attempt: str
    raw: RawAttempt
    preflight: Preflight | None
    session: Session | None
    report: ReportLog
    progress: Progress
    junit: tuple[Case, ...] | JUnitUnusableError

    @property
    def pytest_exit(self) -> int | None:
        """Pytest's exit status, if it came to one."""
        return self.session.pytest_exit if self.session is not None else None

    @property
    def killed_by(self) -> int | None:
        """The signal that ended the attempt as a whole before the payload was done, if one did."""
        if self.session is not None:
            return None
        if self.raw.signal is not None:
            return self.raw.signal
        code = self.raw.exit_code
        return code - 128 if code is not None and code in _SIGNAL_EXITS else None

    @property
    def cut_short(self) -> bool:
        """Whether the attempt was ended from outside, so that what is missing says nothing about the probes."""
        return self.raw.deadline_passed or self.killed_by is not None

    @cached_property
    def failures(self) -> int:
        """How many failures were recorded in the whole session."""
        return self.report.failures()

    @cached_property
    def _cases(self) -> dict[tuple[str, str], set[str]]:
        cases: dict[tuple[str, str], set[str]] = {}
        for case in self.junit if isinstance(self.junit, tuple) else ():
            cases.setdefault((case.classname, case.name), set()).add(case.status)
        return cases

    def statuses(self, item: str) -> set[str]:
        """Return what the JUnit file says of a probe: empty where it does not list it."""
        return self._cases.get(address(item), set())

    def phases(self, item: str) -> tuple[Phase, ...]:
        """Return what the report-log says of a probe."""
        return self.report.probes.get(item, ())

    def phase(self, item: str, when: str) -> Phase | None:
        """Return one phase of a probe; of repeated ones the worst."""
        found = [phase for phase in self.phases(item) if phase.when == when]
        return next((phase for phase in found if phase.outcome == "failed"), found[-1] if found else None)

    def items(self, nodeid: str) -> tuple[str, ...]:
        """Return the collected probes that an expected node id stands for: itself or its parametrisations."""
        seen = dict.fromkeys((*(self.progress.collected or ()), *self.report.probes, *self.progress.runs))
        return tuple(item for item in seen if item == nodeid or item.startswith(f"{nodeid}["))

    def printed(self, item: str) -> str | None:
        """Return what the log shows of the time in which a probe ran."""
        _, marker, after = self.raw.log.rpartition(f"[probe] {item}\n")
        return excerpt(_OTHERS.split(after)[0]) if marker else None

    def log_tail(self) -> str | None:
        """Return the end of the log."""
        return excerpt(self.raw.log[-MAX_EXCERPT:])


def gather(raw: RawAttempt, attempt: str) -> Evidence:
    """Read an attempt's artifacts; nothing in them can make this raise."""
    try:
        junit: tuple[Case, ...] | JUnitUnusableError = read_junit(raw.artifacts.get("junit.xml"), attempt)
    except JUnitUnusableError as error:
        junit = error
    return Evidence(
        attempt=attempt,
        raw=raw,
        preflight=read_preflight(raw.artifacts),
        session=read_session(raw.artifacts),
        report=read_report_log(raw.artifacts.get("report.jsonl")),
        progress=read_progress(raw.artifacts.get("progress.jsonl")),
        junit=junit,
    )


def excerpt(text: str) -> str | None:
    """Return the beginning and the end of a text, None if there is nothing in it."""
    text = text.strip()
    if len(text) > MAX_EXCERPT:
        text = f"{text[: MAX_EXCERPT // 2]}\n[…]\n{text[-MAX_EXCERPT // 2 :]}"
    return text or None
