"""What stands behind each transition, and why a version is unknown: for people, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import CauseKind, Kind, Outcome, Verdict
from orchestrator.pinpoint import collapse
from orchestrator.report import certainty, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orchestrator.model import Cause, CellRow, Point, Report, Series, Transition
    from orchestrator.pinpoint import Group

MOVED_SHOWN = 5
"""How many of the other distributions that moved are named."""

CELLS_SHOWN = 4
"""How many of the cells that share a reason are named."""

LOG_SHOWN = 6
"""How many lines of a failed build's log people are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of evidence."""

    label: str
    text: str
    is_link: bool = False
    is_command: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A transition and what is known of it."""

    issue: str
    where: str
    change: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Versions or cells that came to no verdict, for one and the same reason."""

    what: str
    outcome: str
    reason: str | None
    log: tuple[str, ...] = ()
    """The last lines of what was printed, where an environment could not be made."""


def exhibits(report: Report) -> tuple[Exhibit, ...]:
    """Return the evidence of every transition, in the order of the series."""
    cells = {row.cell: row for row in report.cells}
    return tuple(
        Exhibit(
            issue=group.shown.issue,
            where=words.where(group),
            change=words.change(transition),
            facts=tuple(_facts(group.shown, transition, cells)),
        )
        for group in collapse(report.series)
        for transition in group.shown.transitions
    )


def _facts(series: Series, transition: Transition, cells: Mapping[str, CellRow]) -> Iterator[Fact]:
    points = {point.version: point for point in series.points}
    new = points[transition.version]
    old = points[transition.after] if transition.after is not None else None
    yield from _signatures(series, transition)
    yield from _metrics(old, new)
    yield from _certainty(series, transition)
    if transition.compare:
        yield Fact(label="compare", text=transition.compare, is_link=True)
    if transition.culprit and old is not None:
        yield Fact(label="culprit", text=_culprit(transition, cells.get(old.cell), cells.get(new.cell)))
    if transition.commit is not None:
        yield Fact(label="commit", text=transition.commit)
    if transition.cause is not None:
        yield from _cause(transition.cause)
    if transition.moved:
        moved = words.bounded([words.moved(one) for one in transition.moved], MOVED_SHOWN + 1)
        yield Fact(label="also moved", text=words.conjunction(moved))
    if any(transition.git_versions):
        before, after = transition.git_versions
        yield Fact(label="git", text=f"{_commit(before)} → {_commit(after)}" if old else _commit(after))
    affected = old if old is not None and transition.kind is Kind.FIXED else new
    yield Fact(label="repeat", text=words.repeat(affected.cell, series.issue), is_command=True)


def _signatures(series: Series, transition: Transition) -> Iterator[Fact]:
    """Say how the failure shows: for a fix how it last did, else how it does and each time that this changes."""
    if transition.kind is Kind.FIXED:
        last = next(point for point in series.points if point.version == transition.after)
        if last.signature:
            yield Fact(label="until then", text=last.signature)
        return
    shown: str | None = None
    for point in series.points:
        if point.version < transition.version or point.verdict is Verdict.UNKNOWN:
            continue
        if point.verdict is Verdict.GOOD:
            return
        if point.signature and point.signature != shown:
            label = "shows" if point.version == transition.version else f"from {point.version}"
            yield Fact(label=label, text=point.signature)
            shown = point.signature


def _certainty(series: Series, transition: Transition) -> Iterator[Fact]:
    sides = [p for p in series.points if p.version in (transition.after, transition.version) and p.bad + p.good]
    if sides:
        seen = words.conjunction([f"{words.plural(p.bad + p.good, 'run')} of {p.version}" for p in sides])
        yield Fact(label="certainty", text=f"{certainty.percent(transition.confidence)}, with {seen}")


def _metrics(old: Point | None, new: Point) -> Iterator[Fact]:
    known = [point for point in (old, new) if point is not None]
    for name in sorted({name for point in known for name in point.metrics}):
        values = [f"{point.metrics[name]:.4g} at {point.version}" for point in known if name in point.metrics]
        yield Fact(label="measured", text=f"{name} {' → '.join(values)}")


def _culprit(transition: Transition, old: CellRow | None, new: CellRow | None) -> str:
    names = []
    for package in transition.culprit:
        before, after = (row.versions.get(package) if row else None for row in (old, new))
        names.append(f"{package} {before} → {after}" if before and after and before != after else package)
    text = words.conjunction(names, "or")
    return f"{text}: no cell here separates them" if len(names) > 1 and transition.cause is None else text


def _cause(cause: Cause) -> Iterator[Fact]:
    """Say what hybrid cells told of the packages that moved."""
    text = words.conjunction(cause.packages) if cause.packages else ""
    runs = words.plural(cause.cells, "hybrid cell")
    match cause.kind:
        case CauseKind.EXACT:
            together = " together" if len(cause.packages) > 1 else ""
            text = f"it takes {text}{together} ({certainty.percent(cause.probability)}, {runs})"
        case CauseKind.SET:
            shares = [
                f"{' with '.join(one) or 'something else'} {chance:.0%}" for one, chance in cause.alternatives
            ]
            text = f"{words.conjunction(shares, 'or')}: no cell that can be installed separates them ({runs})"
        case CauseKind.ELSE:
            text = f"no set of up to three packages explains what {runs} showed; the smallest that fails: {text}"
        case CauseKind.OPEN:
            text = f"one of {text}: the search ended before it was known ({runs})"
    yield Fact(label="cause", text=text)
    for witness in cause.witnesses:
        taken = words.conjunction(witness.taken) if witness.taken else "nothing"
        verb = "fails" if witness.fails else "passes"
        yield Fact(label="witness", text=f"{verb} with {taken} of the bad side: {', '.join(witness.cells)}")


def _commit(git_version: str | None) -> str:
    return git_version[:12] if git_version else "unknown"


def unknowns(report: Report) -> tuple[Unknown, ...]:
    """Return what came to no verdict and why; missing devices and what was left out on purpose are told apart."""
    cells = {row.cell: row for row in report.cells}
    cell_wide: dict[tuple[Outcome | None, str | None], list[CellRow]] = {}
    # What a search leaves out is left out on purpose.
    plain = {None, Outcome.NO_DEVICE} | ({Outcome.NOT_RUN} if report.searched else set())
    for row in report.cells:
        if row.excluded or row.outcome not in plain:
            cell_wide.setdefault((row.outcome, row.reason), []).append(row)
    found = [
        Unknown(
            what=words.conjunction(words.bounded([row.cell for row in rows], CELLS_SHOWN)),
            outcome="excluded" if outcome is None else words.outcome(outcome),
            reason=reason,
            log=rows[0].log[-LOG_SHOWN:],
        )
        for (outcome, reason), rows in cell_wide.items()
    ]
    for group in collapse(report.series):
        found += _unknown_points(group, cells)
    return tuple(found)


def _unknown_points(group: Group, cells: Mapping[str, CellRow]) -> Iterator[Unknown]:
    alike: dict[tuple[Outcome, str | None], list[Point]] = {}
    for point in group.shown.points:
        row = cells.get(point.cell)
        if point.verdict is Verdict.UNKNOWN and (row is None or row.outcome is None):
            alike.setdefault((point.outcome, point.signature), []).append(point)
    for (outcome, signature), points in alike.items():
        versions = words.listed([point.version for point in points])
        yield Unknown(
            what=f"{group.shown.issue} in {words.where(group)} {versions}",
            outcome=words.outcome(outcome),
            reason=signature,
        )
