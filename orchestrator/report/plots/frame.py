"""Where everything goes on the sheet of one plot, in points, before anything is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from orchestrator.model import Kind
from orchestrator.report.clean import shorten
from orchestrator.report.plots.lettering import measure
from orchestrator.report.plots.scale import ABOVE, BELOW, Form, Scale, row, scale
from orchestrator.report.plots.sentence import LINES, number
from orchestrator.report.plots.ticks import Flag, Turned, labelled, stacked
from orchestrator.report.plots.values import Plot

if TYPE_CHECKING:
    from orchestrator.report.plots.lettering import Lettering
    from orchestrator.report.plots.values import Change
    from orchestrator.versions import Version

WIDTH = 540.0
MAIN = 176.0
ROW = 15.0
WORDS = 12.0
LEGEND = 15.0
SMALL = 8.0
"""Size of the letters at the axes."""

EDGE = 14.0
_GAP = 6.0
"""Between panels."""

FLAG = 3.0
"""Between a pole and its word."""

_NARROWED = 120.0
"""By how much words may make the panels narrower."""

_TITLE = 48.0
_VERSION = 30
"""Characters of a version, and of the label of a line above a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What is written above a change, beside its pole at `x`; not at all where `row` is None."""

    text: str
    x: float
    row: int | None
    leftwards: bool
    """True where there is no room to the right of the pole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The places of one plot. Heights are counted from below."""

    plot: Plot
    scale: Scale
    ticks: tuple[tuple[float, str], ...]
    above: tuple[str, ...]
    below: tuple[str, ...]
    """Rows that are used, the uppermost first."""
    left: float
    right: float
    versions: tuple[str, ...]
    turned: Turned
    labels: float
    """The height of the version labels."""
    words: tuple[Word, ...]
    legend: int
    """Rows of the legend."""

    @property
    def step(self) -> float:
        """Points between two versions."""
        return (self.right - self.left) / len(self.versions)

    def column(self, place: float) -> float:
        """Return where a version is, by its place from 0."""
        return self.left + (place + 0.5) * self.step

    @property
    def foot(self) -> float:
        """Where the lowest panel begins."""
        return EDGE + self.legend * LEGEND + 20 + self.labels

    @property
    def main(self) -> float:
        """Where the panel of numbers begins."""
        return self.foot + (len(self.below) * ROW + _GAP if self.below else 0)

    @property
    def strip(self) -> float:
        """Where the rows above the numbers begin."""
        return self.main + MAIN + (_GAP if self.above else 0)

    @property
    def top(self) -> float:
        """Where the highest panel ends."""
        return self.strip + len(self.above) * ROW

    @property
    def height(self) -> float:
        """The height of the sheet."""
        rows = [word.row for word in self.words if word.row is not None]
        return self.top + (WORDS * (max(rows) + 1) + 3 if rows else 0) + _TITLE

    def height_of(self, value: float) -> float:
        """Return how high a number that the scale shows is."""
        return self.main + MAIN * self.scale.at(value)

    def boundary(self, change: Change) -> tuple[float, float]:
        """Return from where to where a change may lie: the same place twice where nothing lies between."""
        first, last = _between(self.plot, change)
        return self.left + first * self.step, self.left + last * self.step


def frame(plot: Plot, lettering: Lettering, legend: int) -> Frame:
    """Lay out a plot whose legend takes so many rows."""
    samples = [sample for line in plot.lines[:LINES] for sample in line.samples]
    values = [value for one in samples if one.value is not None for value in (one.value, *one.also)]
    shown = scale(values, plot.threshold)
    rows = {row(value, shown.form) for value in (*values, *(one.value for one in samples))}
    ticks = _ticks(shown)
    above, below = (tuple(name for name in names if name in rows) for names in (ABOVE, BELOW))
    widest = max((measure(text, SMALL) for text in (*(label for _, label in ticks), *above, *below)), default=0)
    left = EDGE + 18 + widest + 6
    right = WIDTH - EDGE
    if plot.threshold is not None:
        right -= max(measure("threshold", SMALL), measure(number(plot.threshold), SMALL)) + 4
    right = _narrowed(plot, lettering, left, right)
    versions = tuple(shorten(str(version), _VERSION) for version in plot.versions)
    step = (right - left) / len(versions)
    widths = [measure(text, SMALL) for text in versions]
    turned = labelled(widths, step, _important(plot))
    longest = max(widths[place] for place in turned.places)
    if turned.degrees == 45:  # noqa: PLR2004 - the first label reaches to the left of the panel
        reach = max(widths[place] * math.sqrt(0.5) - (place + 0.5) * step for place in turned.places)
        left = max(left, EDGE + reach)
    bare = Frame(
        plot=plot,
        scale=shown,
        ticks=ticks,
        above=above,
        below=below,
        left=left,
        right=right,
        versions=versions,
        turned=turned,
        labels={0: SMALL, 45: longest * math.sqrt(0.5) + 8, 90: longest}[turned.degrees] + 6,
        words=(),
        legend=legend,
    )
    return replace(bare, words=_words(bare, lettering))


def _ticks(shown: Scale) -> tuple[tuple[float, str], ...]:
    if shown.empty:
        return ()
    if shown.form is not Form.LINEAR:
        return tuple((tick, f"{tick:g}") for tick in shown.ticks)
    ticks = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(shown.low, shown.high)
    step = float(ticks[1] - ticks[0])
    digits = 6
    if (most := max(abs(shown.low), abs(shown.high))) > step > 0:
        digits = min(max(6, math.ceil(math.log10(most / step)) + 2), 15)
    inside = [float(tick) for tick in ticks if shown.low <= tick <= shown.high]
    # What is left of zero by rounding is zero.
    return tuple((tick, f"{tick if abs(tick) > step / 1000 else 0.0:.{digits}g}") for tick in inside)


def _important(plot: Plot) -> set[int]:
    places: dict[Version, int] = {version: place for place, version in enumerate(plot.versions)}
    sides = {version for change in plot.changes for version in (change.after, change.version)}
    return {0, *(places[version] for version in sides if version is not None)}


def _between(plot: Plot, change: Change) -> tuple[int, int]:
    """Return how many versions lie before a change at least, and at most."""
    places = {version: place for place, version in enumerate(plot.versions)}
    new = places[change.version]
    if change.after is not None:
        return places[change.after] + 1, new
    # Without an older state, what was not tested before may be affected as well.
    return (places[change.untested[0]] if change.untested else new), new


def _narrowed(plot: Plot, lettering: Lettering, left: float, right: float) -> float:
    """Return where the panels have to end so that words have room to the right of their poles."""
    ends = [right]
    for change in plot.changes:
        share = _between(plot, change)[0] / len(plot.versions)
        free = WIDTH - EDGE - FLAG - lettering.width(_word(change, plot), SMALL, bold=True)
        if share and left + share * (right - left) > free:
            ends.append(left + (free - left) / share)
    return max(min(ends), right - _NARROWED)


def _words(bare: Frame, lettering: Lettering) -> tuple[Word, ...]:
    words, flags = [], []
    for change in bare.plot.changes:
        pole, text = bare.boundary(change)[0], _word(change, bare.plot)
        width = lettering.width(text, SMALL, bold=True) + FLAG
        leftwards = pole + width > WIDTH - EDGE + 0.01
        words.append(Word(text=text, x=pole, row=None, leftwards=leftwards))
        flags.append(Flag(pole=pole, left=pole - width * leftwards, right=pole + width * (not leftwards)))
    return tuple(replace(word, row=row) for word, row in zip(words, stacked(flags), strict=True))


def _word(change: Change, plot: Plot) -> str:
    text = "introduced" if change.kind is Kind.INTRODUCED else "fixed"
    if change.after is None:
        text = "since the API appeared" if change.since_api else f"{text} ≤ {change.version}"
    if len(change.lines) == len(plot.lines):
        return text
    label = plot.lines[change.lines[0]].label
    more = f" +{len(change.lines) - 1}" if change.lines[1:] else ""
    return f"{text} ({shorten(label, _VERSION)}{more})"
