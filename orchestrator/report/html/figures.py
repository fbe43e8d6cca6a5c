"""Numbers that probes recorded: a table per issue, metric and place, and a plot where the library is there."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.report import words
from orchestrator.report.html.anchors import anchor
from orchestrator.report.plots import available, plots, svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.model import Report
    from orchestrator.report.plots import Plot, Sample

MOST = 40
"""Plots on a page, with their tables."""

BUDGET = 1_000_000
"""Bytes of all plots together, as they stand on the page."""

COLUMNS = 8
"""Combinations of the other axes that a table has, at most."""

NAMED = 100
"""How many of the plots that are left out are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The numbers at one version: one per column."""

    version: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One metric of one issue in one place. `image` is an address of data; empty where there is no room for it."""

    anchor: str
    issue: str
    title: str
    where: str
    alt: str
    image: str
    threshold: str
    labels: tuple[str, ...]
    lines: tuple[Line, ...]
    more: int
    """Combinations without a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of a page, the names of some that it has no room for, and how many these are."""

    shown: tuple[Figure, ...]
    drawn: bool
    """Whether plots can be drawn here at all."""
    left_out: tuple[str, ...]
    others: int


def figures(report: Report) -> Figures:
    """Return the numbers of a report, in the order of its series."""
    found = plots(report)
    names = [f"{plot.title}, {plot.where}" for plot in found[MOST:]]
    return Figures(
        shown=tuple(_figures(found[:MOST])),
        drawn=available(),
        left_out=tuple(words.bounded(names, NAMED)),
        others=len(names),
    )


def _figures(found: Sequence[Plot]) -> Iterator[Figure]:
    room = BUDGET
    for plot in found:
        image = _image(plot) if available() else ""
        if len(image) > room:
            image = ""
        room -= len(image)
        yield _figure(plot, image)


def _image(plot: Plot) -> str:
    return f"data:image/svg+xml;base64,{b64encode(svg(plot).encode()).decode()}"


def _figure(plot: Plot, image: str) -> Figure:
    columns = plot.lines[:COLUMNS]
    values = [{sample.version: _values(sample) for sample in line.samples} for line in columns]
    return Figure(
        anchor=anchor("n", plot.issue, plot.metric, plot.stack, plot.axis),
        issue=plot.issue,
        title=plot.title,
        where=plot.where,
        alt=plot.alt,
        image=image,
        threshold="" if plot.threshold is None else f"{plot.threshold:g}",
        labels=tuple(line.label or plot.metric for line in columns),
        lines=tuple(
            Line(version=str(version), values=tuple(column.get(version, "") for column in values))
            for version in plot.versions
        ),
        more=len(plot.lines) - len(columns),
    )


def _values(sample: Sample) -> str:
    """Return the numbers of one version; several where series that are shown as one recorded different ones."""
    if sample.value is None:
        return ""
    return ", ".join(words.bounded([f"{value:.4g}" for value in (sample.value, *sample.also)], 4))
