"""A report to what its plots show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from orchestrator.pinpoint import Group, collapse
from orchestrator.report import words
from orchestrator.report.clean import clean
from orchestrator.report.plots.sentence import alternative
from orchestrator.report.plots.values import Change, Line, Plot, Sample

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from orchestrator.model import Point, Report, Series, Topic, Transition


def plots(report: Report) -> tuple[Plot, ...]:
    """Return a plot for every metric of every issue, stack and axis, in the order of the series.

    Of the metrics of an issue, the one that decides comes first. Texts in it are clean.
    """
    placed: dict[tuple[str, str, str], list[Series]] = {}
    for series in report.series:
        if any(point.metrics for point in series.points):
            placed.setdefault((series.issue, series.stack, series.axis), []).append(series)
    return tuple(
        _plot(metric, [one for one in members if _has(one, metric)], report.issues.get(issue))
        for (issue, _, _), members in placed.items()
        for metric in _metrics(members, report.issues.get(issue))
    )


def _metrics(members: Sequence[Series], topic: Topic | None) -> list[str]:
    names = {name for series in members for point in series.points for name in point.metrics}
    decisive = topic.threshold.metric if topic is not None and topic.threshold is not None else None
    return sorted(names, key=lambda name: (name != decisive, name))


def _has(series: Series, metric: str) -> bool:
    return any(metric in point.metrics for point in series.points)


def _plot(metric: str, members: Sequence[Series], topic: Topic | None) -> Plot:
    groups = collapse(members)
    lines = tuple(_line(group, metric) for group in groups)
    first = members[0]
    issue, name = clean(first.issue), clean(metric)
    limit = topic.threshold if topic is not None else None
    threshold = limit.above if limit is not None and limit.metric == metric else None
    where = clean(words.where(groups[0])) if len(groups) == 1 else clean(f"{first.stack} / {first.axis}")
    return Plot(
        issue=issue,
        topic=clean(topic.title) if topic is not None else "",
        metric=name,
        stack=clean(first.stack),
        axis=clean(first.axis),
        where=where,
        title=f"{name} of {issue}",
        alt=alternative(f"{name} of {issue}", clean(f"{first.axis} in {first.stack}"), lines, threshold),
        versions=tuple(sorted({sample.version for line in lines for sample in line.samples})),
        lines=lines,
        changes=_changes(lines),
        threshold=threshold,
    )


def _line(group: Group, metric: str) -> Line:
    # Equal series have the same versions: each column has the points of one version.
    columns = zip(*(series.points for series in group.series), strict=True)
    return Line(
        label=clean(words.combinations(group)),
        samples=tuple(_sample(column, metric) for column in columns),
        transitions=group.shown.transitions,
    )


def _sample(points: Sequence[Point], metric: str) -> Sample:
    values = [point.metrics[metric] for point in points if metric in point.metrics]
    shown = points[0]
    return Sample(
        version=shown.version,
        value=values[0] if values else None,
        also=tuple(_others(values)),
        outcome=shown.outcome,
        verdict=shown.verdict,
    )


def _others(values: Sequence[float]) -> Iterator[float]:
    """Yield the values that differ from the first and from each other; all NaN are alike."""
    seen = {_key(values[0])} if values else set()
    for value in values[1:]:
        if _key(value) not in seen:
            seen.add(_key(value))
            yield value


def _key(value: float) -> Hashable:
    return "nan" if math.isnan(value) else value


def _changes(lines: Sequence[Line]) -> tuple[Change, ...]:
    found: dict[Hashable, tuple[Transition, list[int]]] = {}
    for place, line in enumerate(lines):
        for one in line.transitions:
            key = (one.kind, one.after, one.version, one.untested, one.since_api)
            found.setdefault(key, (one, []))[1].append(place)
    ordered = sorted(found.values(), key=lambda entry: (entry[0].version, entry[1]))
    return tuple(
        Change(
            kind=one.kind,
            after=one.after,
            version=one.version,
            untested=one.untested,
            since_api=one.since_api,
            lines=tuple(places),
        )
        for one, places in ordered
    )
