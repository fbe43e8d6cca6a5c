"""A badge: how many issues are ok and how many affected, as a small SVG for a README."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from orchestrator.model import State, Surprise

if TYPE_CHECKING:
    from orchestrator.model import Report

LABEL = "matrix"

# On each of these white text has a contrast of at least 4.5; what they say is in the text besides.
RED = "#cf222e"
BLUE = "#0969da"
GREEN = "#1a7f37"
GREY = "#57606a"

_DARK = "#3d444d"
_HEIGHT = 20
_PADDING = 6
_SIZE = 11
"""Of the font, in pixels, as all widths are."""

_WIDE = 7.5
"""Of a character that the table does not have."""

# Advance widths of Verdana, the first font of the badge, at its size.
_WIDTHS = {
    **dict.fromkeys("0123456789", 7.0),
    **dict.fromkeys("fijlrt·, ", 4.0),
    **dict.fromkeys("bdghnopqu", 7.0),
    **dict.fromkeys("acekosvxyz", 6.5),
    **dict.fromkeys("mw", 10.0),
}

_WORST = (State.AFFECTED, State.OK, State.UNKNOWN)
"""Which of its states an issue has that stands differently in several places."""


def render(report: Report) -> str:
    """Return the badge of a clean report, as wide as its text."""
    return _svg(message(report), colour(report))


def message(report: Report) -> str:
    """Return how many issues are in each state: an issue is affected if it is anywhere, and ok if it is known."""
    states: dict[str, set[State]] = {}
    for series in report.series:
        states.setdefault(series.issue, set()).add(series.state)
    counts = Counter(next(state for state in _WORST if state in seen) for seen in states.values())
    if not counts[State.OK] + counts[State.AFFECTED]:
        return "nothing known"
    parts = [(counts[State.OK], "ok"), (counts[State.AFFECTED], "affected"), (counts[State.UNKNOWN], "unknown")]
    return " · ".join(f"{count} {word}" for count, word in parts if count)


def colour(report: Report) -> str:
    """Return red where an issue is affected that should not be, blue for an unexpected fix, green, or grey."""
    kinds = {finding.kind for finding in report.findings}
    if kinds & {Surprise.REGRESSION, Surprise.AFFECTED}:
        return RED
    if all(series.state is State.UNKNOWN for series in report.series):
        return GREY
    return BLUE if kinds else GREEN


def _width(text: str) -> int:
    return round(sum(_WIDTHS.get(character, _WIDE) for character in text))


def _svg(text: str, fill: str) -> str:
    left, right = (_width(part) + 2 * _PADDING for part in (LABEL, text))
    title = escape(f"{LABEL}: {text}")
    size = f'width="{left + right}" height="{_HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">',
        f"  <title>{title}</title>",
        f'  <clipPath id="round"><rect {size} rx="3" fill="#fff"/></clipPath>',
        '  <g clip-path="url(#round)">',
        f'    <rect width="{left}" height="{_HEIGHT}" fill="{_DARK}"/>',
        f'    <rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{fill}"/>',
        "  </g>",
        f'  <g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="{_SIZE}">',
        # Given its length, the text fills its half whatever font there is.
        *(
            f'    <text x="{start + _PADDING}" y="14" textLength="{_width(part)}">{escape(part)}</text>'
            for start, part in ((0, LABEL), (left, text))
        ),
        "  </g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
