"""Two runs side by side: what is newly affected or fixed, what cannot be compared, and what else was different."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.model import Comparison, Difference, Kind, News, Shift, Verdict

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from orchestrator.model import CellRow, Finding, Point, Report, Series, Transition
    from orchestrator.versions import Version

_ORDER = tuple(News)
_TURNED = {(Verdict.GOOD, Verdict.BAD): News.AFFECTED, (Verdict.BAD, Verdict.GOOD): News.FIXED}
_NEWS = {Kind.INTRODUCED: News.AFFECTED, Kind.FIXED: News.FIXED}


def compare(old: Report, new: Report) -> Comparison:
    """Compare the series and cells that two reports share; the worst news first."""
    before = {_key(one): one for one in old.series}
    both = [(before[_key(one)], one) for one in new.series if _key(one) in before]
    rows = {row.cell: row for row in old.cells}, {row.cell: row for row in new.cells}
    differences = [one for pair in both for one in _differences(*pair, *rows)]
    return Comparison(
        old=old.provenance,
        new=new.provenance,
        compared=len(both),
        differences=tuple(sorted(differences, key=lambda one: _ORDER.index(one.kind))),
        shifts=_shifts(*rows),
    )


def with_news(new: Report, old: Report | None) -> Report:
    """Return a report that says what is different from the run before, if the two have any series in common."""
    if old is None:
        return new
    since = compare(old, new)
    if not since.compared:
        return new
    known = {_finding(one) for one in old.findings}
    findings = tuple(replace(one, new=_finding(one) not in known) for one in new.findings)
    return replace(new, since=since, findings=findings)


def _key(series: Series) -> Hashable:
    return series.issue, series.stack, series.axis, *sorted(series.fixed.items())


def _finding(finding: Finding) -> Hashable:
    fixed = tuple(sorted(finding.fixed.items()))
    return finding.kind, finding.issue, finding.stack, finding.axis, fixed, finding.since


def _differences(
    old: Series, new: Series, rows_before: Mapping[str, CellRow], rows_after: Mapping[str, CellRow]
) -> Iterator[Difference]:
    points = {point.version: point for point in old.points}
    found: dict[News, list[tuple[Point | None, Point]]] = {}
    for point in new.points:
        earlier = points.get(point.version)
        kind = _news(earlier, point, old.transitions, new.transitions)
        if kind is not None:
            found.setdefault(kind, []).append((earlier, point))
    for kind, pairs in found.items():
        earlier, first = pairs[0]
        besides = {
            what
            for _, point in pairs
            for what, _, _ in _moved(rows_before.get(point.cell), rows_after.get(point.cell))
        }
        yield Difference(
            kind=kind,
            issue=new.issue,
            stack=new.stack,
            axis=new.axis,
            fixed=new.fixed,
            versions=tuple(point.version for _, point in pairs),
            before=None if earlier is None else earlier.outcome,
            after=first.outcome,
            besides=tuple(sorted(besides)),
        )


def _news(old: Point | None, new: Point, before: Sequence[Transition], after: Sequence[Transition]) -> News | None:
    """Return what a version is news of, if it is."""
    if old is not None and old.verdict is not Verdict.UNKNOWN:
        return News.INCOMPARABLE if new.verdict is Verdict.UNKNOWN else _TURNED.get((old.verdict, new.verdict))
    # The earlier run did not know this version: it is news where the state changes, unless that change was known
    # and is only found more closely now.
    turned = next((one for one in after if one.version == new.version and one.after is not None), None)
    if turned is None or any(_covers(one, turned.kind, new.version) for one in before):
        return None
    return _NEWS[turned.kind]


def _covers(transition: Transition, kind: Kind, version: Version) -> bool:
    after = transition.after
    return transition.kind is kind and version <= transition.version and (after is None or after < version)


def _shifts(before: Mapping[str, CellRow], after: Mapping[str, CellRow]) -> tuple[Shift, ...]:
    counts = Counter(shift for cell, row in after.items() if cell in before for shift in _moved(before[cell], row))
    return tuple(
        Shift(what=what, before=old, after=new, cells=count)
        for (what, old, new), count in sorted(
            counts.items(), key=lambda item: (item[0][0], item[0][1] or "", item[0][2] or "")
        )
    )


def _moved(old: CellRow | None, new: CellRow | None) -> Iterable[tuple[str, str | None, str | None]]:
    """Return what a cell was measured on or with, then and now, where both are known and differ."""
    if old is None or new is None:
        return
    if old.lock is not None and new.lock is not None and old.lock != new.lock:
        # Its digest says nothing to anybody: the cells' own versions do.
        yield "lock", None, None
    if old.origin is None or new.origin is None:
        return
    pairs = [("base", old.origin.base, new.origin.base), ("runtime", old.origin.runtime, new.origin.runtime)]
    then, now = old.origin.fingerprint, new.origin.fingerprint
    if then is not None and now is not None:
        pairs += [("device", then.device, now.device), ("system", then.system, now.system)]
        if then.driver != now.driver:
            yield "driver", then.driver, now.driver
        # Where nothing told, nothing is known to differ.
        if then.firmware and now.firmware and then.firmware != now.firmware:
            yield "firmware", then.firmware, now.firmware
        if then.runtime and now.runtime and then.runtime != now.runtime:
            yield "user-space", *_libraries(then.runtime, now.runtime)
    yield from ((what, one, other) for what, one, other in pairs if one != other)


def _libraries(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return those libraries that differ, with their versions then and now."""
    names = sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
    before, after = (", ".join(f"{name} {one[name]}" for name in names if name in one) for one in (then, now))
    return before or None, after or None
