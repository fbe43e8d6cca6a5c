"""How surely each issue is known, what may hide where nothing was run, and which probes are flaky: in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.pinpoint import collapse
from orchestrator.report import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestrator.model import Belief, Report, Searched, Series

_DISAGREEING = 3


def sentences(report: Report) -> tuple[str, ...]:
    """Return a sentence per series, where cells were left out or runs disagree; nothing where all is plain."""
    shown = [group for group in collapse(report.series) if group.shown.belief is not None]
    beliefs = [group.shown.belief for group in shown]
    if report.searched is None and not any(one and (one.flaky or one.gap) for one in beliefs):
        return ()
    # A bisection looks for one change; this is about all of the versions.
    single = report.searched is not None and report.searched.single
    also = "if it may change more than once, " if single else ""
    return tuple(
        f"{group.shown.issue} in {words.where(group)}: {also}{'; '.join(_parts(group.shown, belief))}"
        for group, belief in zip(shown, beliefs, strict=True)
        if belief is not None
    )


def search(searched: Searched) -> str:
    """Return how a search went, in one sentence."""
    runs = f"searched: {words.plural(searched.runs, 'run')}, results in {searched.cells} of {searched.of} cells"
    level = f"{searched.confidence:.1%}" + (", one change at most assumed" if searched.single else "")
    if not searched.open:
        return f"{runs}; every issue is answered at {level}"
    why = f", because {searched.stopped}" if searched.stopped else ", and no cell that can be run tells more"
    return f"{runs}; not answered at {level}: {words.conjunction(words.bounded(searched.open, 6))}{why}"


def percent(chance: float) -> str:
    """Return a probability as people read it; nothing is certain that only nearly is."""
    if chance > 0.999:  # noqa: PLR2004 - what would be rounded up
        return "over 99.9%"
    return "under 0.1%" if chance < 0.001 else f"{chance:.1%}"  # noqa: PLR2004


def _parts(series: Series, belief: Belief) -> Iterator[str]:
    yield f"known at {percent(belief.probability)} after {words.plural(belief.runs, 'run')}"
    if belief.gap is not None:
        gap = belief.gap
        yield (
            f"largest gap {gap.after} … {gap.before} ({gap.untested} untested), "
            f"where a change hides with {percent(gap.hidden)}; in any gap {percent(belief.hidden)}"
        )
    if belief.flaky:
        mixed = [
            f"{point.version} ({point.bad} of {point.bad + point.good} runs failed)"
            for point in series.points
            if point.bad and point.good
        ]
        yield (
            f"flaky at {words.conjunction(words.bounded(mixed, _DISAGREEING))}: estimated to fail in "
            f"{percent(belief.false_fail)} of runs where it is ok and to pass in {percent(belief.false_pass)} "
            "where it is affected"
        )
