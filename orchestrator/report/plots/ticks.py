"""Labels that do not collide: versions along the horizontal axis, and words above the changes."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_APART = 8.0
_ROTATED_APART = 11.5
"""Points between labels that are upright, and between the baselines of those that are turned."""

_STEEP = 62.0
"""Width in points from which labels are turned all the way."""

_ROWS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """Which places have a label, and by how many degrees all of them are turned."""

    places: tuple[int, ...]
    degrees: int


def labelled(widths: Sequence[float], step: float, important: Iterable[int]) -> Turned:
    """Choose the labels of places that are `step` points apart, given the widths of all labels in points.

    Those that are `important` are kept while there is room, then the first and the last, then others evenly.
    """
    if max(widths) + _APART <= step:
        return Turned(places=tuple(range(len(widths))), degrees=0)
    stride = max(1, -int(-_ROTATED_APART // step))
    kept: list[int] = []
    for place in (*sorted(set(important)), len(widths) - 1, *range(0, len(widths), stride)):
        at = bisect_left(kept, place)
        if all(abs(place - other) >= stride for other in kept[max(at - 1, 0) : at + 1]):
            insort(kept, place)
    degrees = 45 if max(widths[place] for place in kept) <= _STEEP and step * 0.7 >= _APART else 90
    return Turned(places=tuple(kept), degrees=degrees)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A word that takes from `left` to `right`, at a pole that rises from the ground to the word's row."""

    pole: float
    left: float
    right: float


def stacked(flags: Sequence[Flag]) -> tuple[int | None, ...]:
    """Return the row of each flag, from 0 at the bottom; None where there is no room.

    No word overlaps another one, and no pole crosses a word of another flag.
    """
    rows: list[int | None] = [None] * len(flags)
    # A word stands over the poles that it passes: those are placed first.
    order = sorted(
        range(len(flags)), key=lambda place: (flags[place].left < flags[place].pole, -flags[place].pole)
    )
    placed: list[tuple[Flag, int]] = []
    for place in order:
        flag = flags[place]
        row = next((row for row in range(_ROWS) if not any(_clash(flag, row, *one) for one in placed)), None)
        if row is not None:
            placed.append((flag, row))
            rows[place] = row
    return tuple(rows)


def _clash(flag: Flag, row: int, other: Flag, other_row: int) -> bool:
    if row == other_row:
        return flag.left < other.right + _APART and other.left < flag.right + _APART
    high, low = (flag, other) if row > other_row else (other, flag)
    return low.left <= high.pole <= low.right
