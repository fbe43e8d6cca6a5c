"""What to do about the issues on GitHub: a report and what is there, to actions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from orchestrator.announce.marker import Told
from orchestrator.announce.thread import Thread
from orchestrator.model import Finding, State, Surprise
from orchestrator.pinpoint import newest_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.model import Report, Series


class Act(StrEnum):
    """What is done to one issue on GitHub."""

    OPEN = "open"
    REOPEN = "reopen"
    UPDATE = "update"
    CLOSE = "close"


class Reason(StrEnum):
    """Why an issue on GitHub is closed."""

    FIXED = "fixed"
    EXPECTED = "expected"
    """It is still there, and the matrix says by now that it is to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing to do."""

    act: Act
    told: Told
    """What the issue on GitHub says afterwards."""
    thread: Thread | None = None
    """None where one is opened."""
    findings: tuple[Finding, ...] = ()
    reason: Reason | None = None
    """Only of one that is closed."""


def decide(report: Report, threads: Iterable[Thread]) -> tuple[Action, ...]:
    """Return what is to be done, so that every issue and stack with an unexpected state has one open thread.

    Nothing is said twice: a thread that told the same findings stays as it is, also where somebody has closed it.
    One is closed when its issue is in no unexpected state any more, in any series of its stack, and all of them
    are known as far as they were when it was told. What a report does not know or does not have changes nothing.
    """
    kept = _by_pair(threads)
    found = _findings(report)
    pairs = dict.fromkeys((one.issue, one.stack) for one in report.series)
    actions = []
    for pair in pairs:
        thread = kept.get(pair)
        if pair in found:
            action = _tell(found[pair], thread)
        else:
            action = None if thread is None else _finish(report, thread)
        if action is not None:
            actions.append(action)
    order = tuple(Act)
    return tuple(sorted(actions, key=lambda one: (order.index(one.act), one.told.issue, one.told.stack)))


def _by_pair(threads: Iterable[Thread]) -> dict[tuple[str, str], Thread]:
    """Return one thread per issue and stack: an open one if there is any, else the newest."""
    ordered = sorted(threads, key=lambda one: (one.open, one.number))
    return {(one.told.issue, one.told.stack): one for one in ordered}


def _findings(report: Report) -> dict[tuple[str, str], tuple[Finding, ...]]:
    found: dict[tuple[str, str], tuple[Finding, ...]] = {}
    for one in report.findings:
        if one.kind is not Surprise.FIXED:
            pair = one.issue, one.stack
            found[pair] = (*found.get(pair, ()), one)
    return found


def _tell(findings: tuple[Finding, ...], thread: Thread | None) -> Action | None:
    told = Told(
        issue=findings[0].issue,
        stack=findings[0].stack,
        digest=_digest(findings),
        at=min(one.version for one in findings),
    )
    if thread is None:
        return Action(act=Act.OPEN, told=told, findings=findings)
    if thread.told.digest == told.digest:
        return None
    return Action(act=Act.UPDATE if thread.open else Act.REOPEN, told=told, thread=thread, findings=findings)


def _digest(findings: Sequence[Finding]) -> str:
    """Return what is the same as long as there is nothing new to tell; that a newer version has it too is not."""
    facts = sorted(
        [one.kind.value, one.axis, sorted(one.fixed.items()), None if one.since is None else str(one.since)]
        for one in findings
    )
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _finish(report: Report, thread: Thread) -> Action | None:
    """Close a thread whose findings are gone; where a run was cut off before it closed it, that is made good."""
    if not thread.open:
        return None
    told = thread.told
    series = [one for one in report.series if (one.issue, one.stack) == (told.issue, told.stack)]
    if not all(_reaches(one, told) for one in series):
        return None
    if all(one.state is State.OK for one in series):
        reason = Reason.FIXED
    elif report.issues[told.issue].expect is State.AFFECTED:
        reason = Reason.EXPECTED
    else:
        return None
    after = Told(issue=told.issue, stack=told.stack, at=told.at)
    return Action(act=Act.CLOSE, told=after, thread=thread, reason=reason)


def _reaches(series: Series, told: Told) -> bool:
    newest = newest_known(series.points)
    return newest is not None and (told.at is None or newest.version >= told.at)
