"""Colours by role, on white and on dark, told apart without seeing red and green as different."""

from __future__ import annotations

from orchestrator.model import Kind, Verdict

LIGHT = {
    "panel": "#ffffff",
    "ink": "#1f2328",
    "muted": "#59636e",
    "grid": "#d8dee4",
    "strip": "#f3f5f8",
    "good": "#00795c",
    "bad": "#c44601",
    "unknown": "#6e7781",
    "line-0": "#2a62a8",
    "line-1": "#8a3f9e",
    "line-2": "#8c6800",
    "line-3": "#b0306b",
}
"""No two are alike: in a finished SVG a colour tells its role."""

DARK = {
    "panel": "#0d1117",
    "ink": "#e6edf3",
    "muted": "#9198a1",
    "grid": "#2a313c",
    "strip": "#161b22",
    "good": "#3fc9a0",
    "bad": "#ff8e4f",
    "unknown": "#a5aeb9",
    "line-0": "#72aef5",
    "line-1": "#d290e4",
    "line-2": "#dcb44a",
    "line-3": "#f57fb2",
}

_COLOURS = 4

VERDICTS = {Verdict.GOOD: "good", Verdict.BAD: "bad", Verdict.UNKNOWN: "unknown"}

KINDS = {Kind.INTRODUCED: "bad", Kind.FIXED: "good"}

MARKERS = {Verdict.GOOD: ("o", 6.2), Verdict.BAD: ("X", 7.6), Verdict.UNKNOWN: ("D", 5.0)}
"""Shape, as matplotlib names it, and size in points."""


def line_role(place: int) -> str:
    """Return the role of a line's colour."""
    return f"line-{place % _COLOURS}"


def line_dashes(place: int) -> tuple[float, ...]:
    """Return the dashes of a line, in points; none is solid. With the colour they tell eight lines apart."""
    return () if place < _COLOURS else (4.0, 2.0)
