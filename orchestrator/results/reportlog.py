"""pytest-reportlog's lines to what each probe did, phase by phase."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CRASHED = "???"
"""What xdist gives as the phase of a probe whose worker died."""

MAX_TEXT = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase of one probe: setup, call, teardown, collect, or `CRASHED`."""

    when: str
    outcome: str
    headline: str = ""
    """The exception as one text, `Type: message`, or the reason of a skip."""
    text: str = ""
    """The failure as pytest shows it, shortened."""
    duration: float = 0.0
    properties: tuple[tuple[str, object], ...] = ()
    expected_failure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLog:
    """What a session reported, in order; `finished` is False where it was cut short."""

    probes: Mapping[str, tuple[Phase, ...]] = field(default_factory=dict)
    collections: Mapping[str, Phase] = field(default_factory=dict)
    """Modules that were not collected, by node id."""
    finished: bool = False

    def failures(self) -> int:
        """Return how many phases and modules failed."""
        phases = [phase for phases in self.probes.values() for phase in phases]
        return sum(phase.outcome == "failed" for phase in (*phases, *self.collections.values()))


def read_report_log(data: bytes | None) -> ReportLog:
    """Read a report-log; lines that are cut or no report are passed over, for a crash may leave one."""
    probes: dict[str, list[Phase]] = {}
    collections: dict[str, Phase] = {}
    finished = False
    for record in _records(data or b""):
        kind, nodeid = record.get("$report_type"), record.get("nodeid")
        if kind == "SessionFinish":
            finished = True
        elif not isinstance(nodeid, str):
            continue
        elif kind == "CollectReport":
            if record.get("outcome") != "passed":
                collections[nodeid] = _phase(record)
        elif "when" in record:
            probes.setdefault(nodeid, []).append(_phase(record))
    return ReportLog(
        probes={nodeid: tuple(phases) for nodeid, phases in probes.items()},
        collections=collections,
        finished=finished,
    )


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _phase(record: Mapping[str, Any]) -> Phase:
    headline, text = _longrepr(record.get("longrepr"))
    duration = record.get("duration")
    return Phase(
        when=str(record.get("when", "collect")),
        outcome=str(record.get("outcome")),
        headline=headline[:MAX_TEXT],
        text=text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT // 2]}\n[…]\n{text[-MAX_TEXT // 2 :]}",
        duration=float(duration) if isinstance(duration, (int, float)) else 0.0,
        properties=tuple(_pairs(record.get("user_properties"))),
        expected_failure="wasxfail" in record,
    )


def _pairs(properties: object) -> Iterator[tuple[str, object]]:
    for pair in properties if isinstance(properties, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str):  # noqa: PLR2004 - name, value
            yield pair[0], pair[1]


def _longrepr(longrepr: object) -> tuple[str, str]:
    """Return the headline and the text of what pytest says of a failure, in any of its forms."""
    if isinstance(longrepr, list):  # a skip: path, line, reason
        reason = str(longrepr[-1]) if longrepr else ""
        return reason, reason
    if isinstance(longrepr, str):
        # Raised lines of a traceback start with E; without one, the first line says it.
        raised = [line[1:].strip() for line in longrepr.splitlines() if line.startswith("E ")]
        return (raised[-1] if raised else longrepr.strip()), longrepr
    if isinstance(longrepr, dict):
        crash = longrepr.get("reprcrash")
        text = "\n".join(_lines(longrepr))
        headline = crash.get("message") if isinstance(crash, dict) else None
        return str(headline or text), text
    return "", ""


def _lines(longrepr: Mapping[str, Any]) -> Iterator[str]:
    trace = longrepr.get("reprtraceback")
    entries = trace.get("reprentries") if isinstance(trace, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        data = entry.get("data") if isinstance(entry, dict) else None
        if not isinstance(data, dict):
            continue
        place = data.get("reprfileloc")
        if isinstance(place, dict):
            yield f"{place.get('path')}:{place.get('lineno')}: {place.get('message')}"
        lines = data.get("lines")
        yield from (str(line) for line in (lines if isinstance(lines, list) else ()))
