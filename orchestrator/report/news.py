"""What differs between two runs, in words: the same for a comparison and at the head of a report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from orchestrator.model import News
from orchestrator.report import escape, layout, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestrator.model import Comparison, Difference, Provenance, Shift

_SHOWN = 40
"""Differences that are told one by one, of each kind."""

_LABELS = {
    News.AFFECTED: "newly affected",
    News.FIXED: "newly fixed",
    News.INCOMPARABLE: "not comparable",
}
ROLES = {News.AFFECTED: "affected", News.FIXED: "ok", News.INCOMPARABLE: "unknown"}
"""How each kind is styled."""

_SHIFTS = {"lock": "locked distributions", "user-space": "user-space runtime"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that is different; `role` as `orchestrator.report.render` has it."""

    text: str
    role: str = "text"


def headline(comparison: Comparison) -> str:
    """Return how many series differ, and since when."""
    counts = [
        f"{count} {_LABELS[kind]}"
        for kind in News
        if (count := sum(one.kind is kind for one in comparison.differences))
    ]
    told = ", ".join(counts) or "nothing changed"
    return f"since {moment(comparison.old)}: {told}"


def moment(origin: Provenance) -> str:
    """Return which run is meant."""
    if origin.started is None:
        return "an earlier run"
    return f"the run of {origin.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def lines(comparison: Comparison) -> Iterator[Line]:
    """Return what is different, the worst first, and then on what else cells were measured."""
    for kind in News:
        found = [one for one in comparison.differences if one.kind is kind]
        for difference in found[:_SHOWN]:
            yield Line(text=f"{_LABELS[kind]}: {_difference(difference)}", role=ROLES[kind])
        if len(found) > _SHOWN:
            yield Line(text=f"{_LABELS[kind]}: {len(found) - _SHOWN} more", role=ROLES[kind])
    yield from (Line(text=_shift(shift), role="unknown") for shift in comparison.shifts)


def text(comparison: Comparison, width: int, style: Callable[[str, str], str]) -> str:
    """Return a clean comparison as text for a terminal."""
    return layout.finished(block(comparison, width, style)) + "\n"


def block(comparison: Comparison, width: int, style: Callable[[str, str], str]) -> str:
    """Return a comparison as a block of text that is laid out but not finished."""
    told = [Line(text=headline(comparison), role="heading"), *lines(comparison)]
    return "\n".join(
        style(line.role, part)
        for number, line in enumerate(told)
        for part in layout.paragraph(line.text, width, first="  " * (number > 0), rest="    ").splitlines()
    )


def markdown(comparison: Comparison) -> str:
    """Return a clean comparison as Markdown."""
    told = [f"**{escape.markdown(headline(comparison))}**"]
    if items := [f"- {escape.markdown(line.text)}" for line in lines(comparison)]:
        told += ["", *items]
    return "\n".join(told) + "\n"


def _difference(one: Difference) -> str:
    place = f"{one.stack} / {one.axis}"
    if one.fixed:
        place += ", " + ", ".join(f"{name} {value}" for name, value in one.fixed.items())
    was = "not known before" if one.before is None else f"{words.outcome(one.before)} before"
    text = f"{one.issue} in {place} at {words.listed(one.versions)}: {words.outcome(one.after)}, {was}"
    if one.besides:
        besides = [_SHIFTS.get(what, what) for what in one.besides]
        text += f"; also different there: {words.conjunction(besides)}"
    return text


def _shift(shift: Shift) -> str:
    what = _SHIFTS.get(shift.what, shift.what)
    change = f": {shift.before or 'none'} → {shift.after or 'none'}" if shift.before or shift.after else ""
    return f"measured with another {what} than then, in {words.plural(shift.cells, 'cell')}{change}"
