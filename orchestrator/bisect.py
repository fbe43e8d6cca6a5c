"""One issue, one change: where exactly it lies, down to the nightly or the commit, and which package it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from orchestrator.adaptive import Search, refuted, row_of, seek
from orchestrator.errors import ConfigError, NothingSelectedError, OrchestratorError
from orchestrator.hybrids import with_causes
from orchestrator.knowledge import Field, survey
from orchestrator.matrix import cell_at, expand
from orchestrator.model import Cell, Kind, Report, Transition, Verdict
from orchestrator.pinpoint import Line, lines, series
from orchestrator.pipeline import choose, conclude
from orchestrator.report import words
from orchestrator.resolve import axis_versions, nightlies
from orchestrator.sources import commits
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.measure import Options
    from orchestrator.workshop import Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a bisection is asked. Versions that are given are believed."""

    issue: str
    good: Version | None = None
    bad: Version | None = None
    find_fix: bool = False
    """Look for where the issue was fixed, rather than where it was introduced."""
    nightlies: bool = False
    """Go on with nightly builds between the two releases."""
    commits: bool = True
    """Go on with commits between the two releases, where the matrix says where they are."""

    @property
    def ends(self) -> tuple[Version | None, Version | None]:
        """The older and the newer of the versions that are given."""
        return (self.bad, self.good) if self.find_fix else (self.good, self.bad)


def bisect(shop: Workshop, options: Options, search: Search, question: Question) -> Report:
    """Find the one change of an issue along its axis, and which package it takes.

    Raises:
        ConfigError: the issue is followed along several lines, the versions given make no interval, or runs refute
            what is given.
        NothingSelectedError: no cell of the issue can be run.
    """
    started = datetime.now(UTC)
    everything = expand(shop.matrix, axis_versions(shop.matrix, shop.resolver.pages))
    field = survey(shop, options.selection, choose(shop.matrix, everything, options.selection))
    line = _line(shop, field, question.issue)
    field, search = _between(shop, field, line, search, question)
    searched = seek(shop, options, search, field, everything)
    _check_given(shop, field, search, question)
    notices: list[str] = []
    history: Mapping[Version, str] = {}
    found = _change(shop, field, question)
    if found is not None and not shop.cancel.is_set() and (question.nightlies or question.commits):
        extras, history, notices = _finer(shop, line, found, question)
        if extras:
            ends = {found.after, found.version}
            sides = [cell for cell in field.cells if cell.versions[line.axis] in ends]
            inner = survey(shop, options.selection, sides, later=extras)
            more = seek(shop, options, search, inner, everything)
            field = field.joined(inner)
            of = len(field.known) + len(field.later)
            searched = replace(more, runs=more.runs + searched.runs, of=of, cells=field.attempted)
    # One change is assumed to find it; how sure all of the series is, is another question.
    report = conclude(shop, field, everything, started, searched, replace(search.prior, single=False))
    causes = with_causes(
        shop, options, field, everything, report.series, search.goal.confidence, lambda one: len(_moving(one)) > 1
    )
    named = tuple(
        replace(one, transitions=tuple(replace(t, commit=history.get(t.version)) for t in one.transitions))
        for one in causes
    )
    return replace(report, series=named, notices=(*report.notices, *notices))


def sentence(report: Report, question: Question) -> str:
    """Return the answer of a bisection as a sentence."""
    (one,) = report.series
    kind = Kind.FIXED if question.find_fix else Kind.INTRODUCED
    found = [t for t in one.transitions if t.kind is kind]
    if not found:
        return f"no culprit: {one.issue} was not {kind.value} along {one.axis}; now {words.now(one)}"
    change = found[-1]
    return f"{one.issue} was {words.change(change)}, along {one.axis}"


def _moving(transition: Transition) -> set[str]:
    return {*transition.culprit, *(moved.name for moved in transition.moved)}


def _line(shop: Workshop, field: Field, issue: str) -> Line:
    found = lines(shop.matrix, field.measured(shop.matrix))
    if not found:
        raise NothingSelectedError(f"no cell of {issue} is selected", hint="`orchestrator list --all` shows them")
    if len(found) > 1:
        names = [" ".join([one.stack, *(f"{k} {v}" for k, v in one.fixed.items())]) for one in found]
        raise ConfigError(
            f"{issue} is followed along {len(found)} lines: {words.conjunction(words.bounded(names, 5))}",
            hint="bisect one: --stack NAME, or -k 'python==3.11' for one value of another axis",
        )
    if not field.known and field.absent:
        raise NothingSelectedError(f"no cell of {issue} can be run here: {next(iter(field.absent.values()))}")
    return found[0]


def _between(shop: Workshop, field: Field, line: Line, search: Search, question: Question) -> tuple[Field, Search]:
    """Cut a field down to the interval that is given; a release that the matrix does not name is added."""
    older, newer = question.ends
    if older is not None and newer is not None and older >= newer:
        hint = "without --find-fix, the good version is the older one" if not question.find_fix else None
        raise ConfigError(
            f"{line.axis} {older} is not older than {newer}", hint=hint or "with --find-fix, the bad one is older"
        )
    missing = [v for v in (older, newer) if v is not None and v not in line.versions]
    added = [_at(shop, line, version) for version in missing]
    cells = [
        cell
        for cell in (*(one.cell for one in line.cells), *added)
        if (older is None or cell.versions[line.axis] >= older)
        and (newer is None or cell.versions[line.axis] <= newer)
    ]
    cells.sort(key=lambda cell: cell.versions[line.axis])
    verdicts = {question.good: Verdict.GOOD, question.bad: Verdict.BAD}
    given = {c.id: verdicts[v] for c in cells if (v := c.versions[line.axis]) in verdicts}
    return survey(shop, field.selection, cells), replace(search, given=given)


def _check_given(shop: Workshop, field: Field, search: Search, question: Question) -> None:
    """Raise where runs say the opposite of what the user gives: no answer between such versions is one."""
    for line in lines(shop.matrix, field.measured(shop.matrix)):
        for cell in refuted([row_of(line, search)], search):
            version = next(one.cell.versions[line.axis] for one in line.cells if one.cell.id == cell)
            verdict = search.given[cell]
            found = "does not show" if verdict is Verdict.BAD else "shows"
            raise ConfigError(
                f"{question.issue} {found} in {line.axis} {version}, which is given as {verdict.value}",
                hint=f"what was measured is kept; give another version, or leave --{verdict.value} out",
            )


def _change(shop: Workshop, field: Field, question: Question) -> Transition | None:
    """Return the change that is looked for, if it lies between two versions."""
    kind = Kind.FIXED if question.find_fix else Kind.INTRODUCED
    found = [
        transition
        for one in series(shop.matrix, field.measured(shop.matrix))
        for transition in one.transitions
        if transition.kind is kind and transition.after is not None
    ]
    return found[-1] if found else None


def _finer(
    shop: Workshop, line: Line, found: Transition, question: Question
) -> tuple[list[Cell], Mapping[Version, str], list[str]]:
    """Return the cells between the two releases of a change, the commits in words, and what to tell the user."""
    package, after = shop.matrix.packages[line.axis], found.after
    if after is None:
        return [], {}, []
    between = f"between {line.axis} {after} and {found.version}"
    try:
        if question.nightlies:
            builds = nightlies(
                shop.matrix,
                shop.resolver.pages,
                shop.matrix.stacks[line.stack],
                line.axis,
                after,
                found.version,
                python=line.cells[0].cell.python,
            )
            cells = [_at(shop, line, one.version, before=found.version) for one in builds]
            return cells, {}, [f"there are {words.plural(len(cells), 'nightly build')} {between}"]
        if package.git is None:
            return [], {}, []
        history = commits(package, shop.store.root / "cache", after, found.version, cancel=shop.cancel)
    except OrchestratorError as error:
        # What is known of the releases is not lost for it.
        return [], {}, [f"nothing finer than releases: {error}"]
    shop.observer.phase(f"{words.plural(len(history), 'commit')} {between}")
    cells = [_at(shop, line, one.version, before=found.version, sha=one.sha) for one in history]
    said = {one.version: f"{one.sha} of {one.date:%Y-%m-%d}: {one.subject}" for one in history}
    return cells, said, [f"there are {words.plural(len(cells), 'commit')} {between}"]


def _at(
    shop: Workshop, line: Line, version: Version, *, before: Version | None = None, sha: str | None = None
) -> Cell:
    """Return the cell of a line at another version of its axis."""
    like = line.cells[0].cell
    return cell_at(
        shop.matrix.stacks[line.stack],
        like.python,
        {**like.versions, line.axis: version},
        before=None if before is None else {line.axis: before},
        commits=None if sha is None else {line.axis: sha},
    )
