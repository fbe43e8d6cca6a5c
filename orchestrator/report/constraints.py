"""A constraints file for pip and uv that keeps out every version known to be affected.

Such a file is flat: all of its lines hold for whatever is installed with it. So there is one line per
distribution, and a version is kept out if it is affected by any issue in any stack; comments say by which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import State, Verdict
from orchestrator.pinpoint import Group, collapse, newest_known
from orchestrator.report import words
from orchestrator.versions import SpecifierSet, Version, allows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orchestrator.model import Report

_HEAD = (
    "Keeps out the versions that are known to be affected: pip install --constraint FILE …",
    "A line holds for every issue and stack. What is unknown is not kept out.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Avoided:
    """Which versions of one package to keep out, by all issues that are followed along it."""

    package: str
    groups: tuple[Group, ...]
    bad: tuple[Version, ...]
    last: Version | None
    """The newest version to let in; None where newer ones than those known are let in."""

    @property
    def terms(self) -> tuple[str, ...]:
        """PEP 440 specifiers, all of which must hold: the versions in order, the bound last."""
        bound = () if self.last is None else (_bound(self.last),)
        below = [f"!={version}" for version in self.bad if allows(SpecifierSet(",".join(bound)), version)]
        return (*below, *bound)


def render(report: Report) -> str:
    """Return a clean report as a constraints file."""
    names = report.distributions
    found = avoided(report)
    lines = [_comment(line) for line in (*_HEAD, words.provenance(report.provenance))]
    for one in found:
        name = names.get(one.package)
        terms = ",".join(one.terms)
        unnamed = f"not kept out, for what indexes call {one.package} is not known here: {terms}"
        lines += ["", *map(_comment, _explained(one, report))]
        lines.append(_comment(unnamed) if name is None else f"{name}{terms}")
    if not found:
        lines += ["", _comment("No version is known to be affected.")]
    return "\n".join(lines) + "\n"


def avoided(report: Report) -> tuple[Avoided, ...]:
    """Return the packages of which any version is known to be affected, by name."""
    packages: dict[str, list[Group]] = {}
    for group in collapse(report.series):
        packages.setdefault(group.shown.axis, []).append(group)
    found = [_avoided(package, groups) for package, groups in sorted(packages.items())]
    return tuple(one for one in found if one.bad)


def _avoided(package: str, groups: Sequence[Group]) -> Avoided:
    bad = _versions(groups, Verdict.BAD)
    good = _versions(groups, Verdict.GOOD) - bad
    ends = [end for group in groups if (end := _last_good(group)) is not None]
    # What keeps out a version that is good in another place is no bound.
    bounds = [end for end in ends if all(allows(SpecifierSet(_bound(end)), version) for version in good)]
    return Avoided(
        package=package,
        groups=tuple(groups),
        bad=tuple(sorted(bad)),
        last=min(bounds, default=None),
    )


def _bound(last: Version) -> str:
    return f"<={last.public}"  # PEP 440 allows no local label here


def _last_good(group: Group) -> Version | None:
    """Return the last version before an issue that the newest version known has, if any is known."""
    shown = group.shown
    return shown.transitions[-1].after if shown.state is State.AFFECTED else None


def _versions(groups: Iterable[Group], verdict: Verdict) -> set[Version]:
    return {point.version for group in groups for point in group.shown.points if point.verdict is verdict}


def _explained(one: Avoided, report: Report) -> Iterator[str]:
    for group in one.groups:
        if not _versions([group], Verdict.BAD):
            continue
        shown = group.shown
        topic = report.issues.get(shown.issue)
        yield f"{shown.issue} in {words.where(group)}" + (f": {topic.title}" if topic else "")
        yield f"  affected: {_listed(group, Verdict.BAD)}"
        if _versions([group], Verdict.UNKNOWN):
            yield f"  not known: {_listed(group, Verdict.UNKNOWN)}"
        yield f"  {'; '.join(words.change(transition) for transition in shown.transitions)}"
        newest = newest_known(shown.points)
        if shown.state is State.AFFECTED and newest is not None:
            yield f"  {newest.version}, the newest version known, is affected too: {_ahead(one, group)}"
    disputed = sorted(set(_disputed(one)))
    if disputed:
        yield f"kept out though one of these issues is ok there in another place: {words.listed(disputed)}"


def _disputed(one: Avoided) -> Iterator[Version]:
    """Return the versions that one and the same issue affects in one place and not in another."""
    issues: dict[str, list[Group]] = {}
    for group in one.groups:
        issues.setdefault(group.shown.issue, []).append(group)
    for members in issues.values():
        yield from _versions(members, Verdict.BAD) & _versions(members, Verdict.GOOD)


def _ahead(one: Avoided, group: Group) -> str:
    last = _last_good(group)
    if last is None:
        return "no version without it is known, and newer ones are let in"
    if one.last is None or one.last > last:
        return f"the last good one is {last}, but newer ones are let in, for some are known to be ok elsewhere"
    return f"the last good one is {last}, and newer ones are kept out until they are known"


def _listed(group: Group, verdict: Verdict) -> str:
    return words.listed(sorted(_versions([group], verdict)))


def _comment(text: str) -> str:
    # A backslash at the end of a line would join the next one to it.
    return f"# {text}".rstrip("\\ ")
