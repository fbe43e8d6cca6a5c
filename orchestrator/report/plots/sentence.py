"""A plot in words, for those who do not see it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from orchestrator.report import words
from orchestrator.report.clean import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.report.plots.values import Line, Sample

LINES = 8
"""How many lines a plot shows, and its sentence tells, at most."""

_VALUES = 8
_NAME = 80
"""Characters of a name."""


def number(value: float) -> str:
    """Return a recorded number as reports write it."""
    return f"{value:.4g}"


def alternative(what: str, where: str, lines: Sequence[Line], threshold: float | None) -> str:
    """Return what a plot shows as one sentence: values around each change, the threshold, and the changes."""
    parts = [_said(line, labelled=len(lines) > 1) for line in lines[:LINES]]
    if len(lines) > LINES:
        parts.append(f"and {len(lines) - LINES} more")
    if threshold is not None:
        parts.insert(1 if len(lines) == 1 else 0, f"threshold {number(threshold)}")
    if len(lines) == 1:
        parts += _changed(lines[0])
    return f"{shorten(what, 2 * _NAME)} along {shorten(where, 2 * _NAME)}: {'; '.join(parts)}"


def _said(line: Line, *, labelled: bool) -> str:
    if not labelled:
        return _values(line)
    changed = "".join(f", {change}" for change in _changed(line))
    return f"{shorten(line.label, _NAME) or 'the rest'}: {_values(line)}{changed}"


def _values(line: Line) -> str:
    """Name the first and the last number and those around each change; "…" where some are left out."""
    known = [sample for sample in line.samples if sample.value is not None]
    sides = {version for one in line.transitions for version in (one.after, one.version)}
    told = [place for place, sample in enumerate(known) if sample.version in sides]
    places = sorted({0, *told[: _VALUES - 2], len(known) - 1})
    text = _value(known[places[0]])
    for before, place in pairwise(places):
        text += (", " if place == before + 1 else " … ") + _value(known[place])
    return text


def _value(sample: Sample) -> str:
    values = [value for value in (sample.value, *sample.also) if value is not None]
    return f"{words.conjunction(words.bounded([number(value) for value in values], 3))} at {sample.version}"


def _changed(line: Line) -> list[str]:
    return words.bounded([words.change(one) for one in line.transitions], _VALUES)
