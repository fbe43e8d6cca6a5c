"""The words and glyphs of the answer, the same in every format that people read."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from orchestrator.model import Device, Kind, Outcome, Point, Series, State, Surprise, Transition, Verdict
from orchestrator.pinpoint import Group, newest_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orchestrator.model import Finding, Moved, Provenance
    from orchestrator.versions import Version

HEADERS = ("issue", "now", "introduced", "fixed", "where")
"""Of the table that holds the answer."""

LONGEST = 600
"""Characters of a reason or signature that people are shown."""

NONE = "\N{EN DASH}"
"""Stands where there is nothing to say."""

SINCE_EARLIEST = "≤ since the earliest version tested; it may be older"
"""Goes below a table of the answer that has such an entry."""

STATES = {State.OK: "✓ ok", State.AFFECTED: "✗ affected", State.UNKNOWN: "? unknown"}

DEVICES = {
    Device.CPU: "CPU",
    Device.XPU: "Intel GPU",
    Device.CUDA: "NVIDIA GPU",
    Device.XLA: "XLA device",
}

LEGEND = {
    "✓": "ok",
    "✗": "affected",
    "⚡": "crash",
    "⏱": "timeout",
    "\N{EN DASH}": "absent",
    "!": "error",
    "≠": "incompatible",
    "∅": "unresolvable",
    "⚒": "build failed",
    "○": "no device",
    "·": "not run",
    "?": "other",
}

_BAD = {Outcome.CRASH: "⚡", Outcome.TIMEOUT: "⏱"}
_UNKNOWN = {
    Outcome.TIMEOUT: "⏱",
    Outcome.ABSENT: "\N{EN DASH}",
    Outcome.ERROR: "!",
    Outcome.INCOMPATIBLE: "≠",
    Outcome.UNRESOLVABLE: "∅",
    Outcome.BUILD_FAILED: "⚒",
    Outcome.NO_DEVICE: "○",
    Outcome.NOT_RUN: "·",
}


def glyph(point: Point) -> str:
    """Return the one character that stands for a point."""
    if point.verdict is Verdict.GOOD:
        return "✓"
    if point.verdict is Verdict.BAD:
        return _BAD.get(point.outcome, "✗")
    return _UNKNOWN.get(point.outcome, "?")


def outcome(value: Outcome) -> str:
    """Return an outcome as words: "no device", "build failed"."""
    return value.value.replace("-", " ")


def now(series: Series) -> str:
    """Return the state, with its version where newer ones are unknown and the reason where all are."""
    newest = newest_known(series.points)
    if newest is None:
        outcomes = {point.outcome for point in series.points}
        only = f" ({outcome(outcomes.pop())})" if len(outcomes) == 1 else ""
        return STATES[State.UNKNOWN] + only
    at = f" at {newest.version}" if newest is not series.points[-1] else ""
    return STATES[series.state] + at


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One time that a series was affected, in words: where it began and where it ended."""

    introduced: str
    fixed: str


def episodes(series: Series) -> tuple[Episode, ...]:
    """Return every time that a series was affected, or one episode that says it never was."""
    if not series.transitions:
        return (Episode(introduced=NONE if series.state is State.UNKNOWN else "never seen", fixed=NONE),)
    return tuple(
        Episode(
            introduced=begun(begin),
            fixed=place(end) if end is not None else ("never" if begin is series.transitions[0] else "not fixed"),
        )
        for begin, end in _episodes(series.transitions)
    )


def _episodes(transitions: Iterable[Transition]) -> Iterator[tuple[Transition, Transition | None]]:
    """Pair each introduction with the fix that follows it. They alternate, an introduction first."""
    remaining = iter(transitions)
    for begin in remaining:
        yield begin, next(remaining, None)


def place(transition: Transition) -> str:
    """Return where a transition lies: "2.2.0 (after 2.1.2)", "in (2.5.1, 2.7.0]", "≤ 2.0.1 (…)"."""
    version, after, untested = transition.version, transition.after, transition.untested
    if after is not None:
        if untested:
            return f"in ({after}, {version}] ({listed(untested)} untested)"
        return f"{version} (after {after})"
    if transition.since_api:
        return f"{version} (since the API appeared)"
    if untested:
        return f"≤ {version} (the earliest version known; {listed(untested)} untested)"
    return f"≤ {version} (since the earliest version tested)"


def begun(transition: Transition) -> str:
    """Return where an episode begins, for the table of the answer; `SINCE_EARLIEST` explains its "≤"."""
    if transition.after is None and not transition.since_api and not transition.untested:
        return f"≤ {transition.version}"
    return place(transition)


def listed(versions: Sequence[Version]) -> str:
    """Return versions as a list of bounded length: "2.6.0, 2.7.0 and 5 more"."""
    return conjunction(bounded([str(version) for version in versions], 4))


def where(group: Group) -> str:
    """Return stack and axis, and what else is fixed: "torchao-cpu / torchao, python 3.11"."""
    shown = group.shown
    also = combinations(group)
    return f"{shown.stack} / {shown.axis}" + (f", {also}" if also else "")


def combinations(group: Group) -> str:
    """Return the values of the other axes that a group stands for: "python 3.11 and 3.12"."""
    fixed = [series.fixed for series in group.series]
    values = {name: list(dict.fromkeys(one[name] for one in fixed)) for name in fixed[0]}
    if math.prod(len(choices) for choices in values.values()) == len(fixed):
        return ", ".join(f"{name} {conjunction(bounded(choices, 6))}" for name, choices in values.items())
    return conjunction(bounded([" ".join(f"{name} {value}" for name, value in one.items()) for one in fixed], 6))


def bounded(names: Sequence[str], most: int) -> list[str]:
    """Return at most `most` names, the last of which says how many others there are."""
    if len(names) <= most:
        return list(names)
    return [*names[: most - 1], f"{len(names) - most + 1} more"]


def conjunction(names: Sequence[str], word: str = "and") -> str:
    """Return names as a sentence says them: "a", "a and b", "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: "1 cell", "14 cells"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def surprise(finding: Finding) -> str:
    """Return a finding as a sentence; that of a fix begins with "news"."""
    at = f"{finding.stack} at {finding.axis} {finding.version}"
    if finding.fixed:
        at += " (" + ", ".join(f"{name} {value}" for name, value in finding.fixed.items()) + ")"
    since = f" since {finding.since}" if finding.since is not None and finding.since != finding.version else ""
    if finding.kind is Surprise.REGRESSION:
        return f"regression: {finding.issue} is affected in {at}{since}, and was ok before"
    if finding.kind is Surprise.FIXED:
        return f"news: {finding.issue} is ok in {at}{since}, expected {finding.expected}: its `expect` can change"
    return f"unexpected: {finding.issue} is {finding.state} in {at}{since}, expected {finding.expected}"


def moved(one: Moved) -> str:
    """Return how a distribution differs: "torch 2.1.2 → 2.2.0", "sympy 1.13.1 added"."""
    if one.before is None:
        return f"{one.name} {one.after} added"
    if one.after is None:
        return f"{one.name} {one.before} gone"
    return f"{one.name} {one.before} → {one.after}"


def repeat(cell: str, issue: str) -> str:
    """Return the command that runs an issue's probes again in a cell."""
    return shlex.join(["orchestrator", "repro", cell, "--issue", issue, "--run"])


def change(transition: Transition) -> str:
    """Return a transition as the head of its evidence: "introduced in 2.6.0 (after 2.5.1)"."""
    verb = "introduced" if transition.kind is Kind.INTRODUCED else "fixed"
    text = place(transition)
    return f"{verb} {text}" if text.startswith(("in ", "≤")) else f"{verb} in {text}"


def provenance(origin: Provenance) -> str:
    """Return where the results come from, in one line."""
    parts = [
        f"started {origin.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if origin.started else None,
        f"runtime {origin.runtime}" if origin.runtime else None,
        origin.host,
        origin.tool,
        f"matrix {origin.matrix[:12]}",
    ]
    return ", ".join(filter(None, parts))
