"""What may hide between two tested versions of the same state."""

from __future__ import annotations

from math import expm1
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def hidden(steps: Iterable[float], introduced: float, fixed: float, *, bad: bool) -> float:
    """Return the probability of a change and a change back between two versions known to be in the same state.

    `steps` are the shares of the axis between them, `introduced` and `fixed` the expected numbers of changes along
    all of it, `bad` their state. For m equal steps with chances i and f to change, between ok versions, it is
    1 - (1-i)^m (i+f) / (f + i (1-i-f)^m): one minus the chance that nothing changed, given where it ended.
    """
    leaving, returning = (fixed, introduced) if bad else (introduced, fixed)
    still = same = 1.0
    for step in steps:
        away, home = -expm1(-step * leaving), -expm1(-step * returning)
        still *= 1 - away
        same = same * (1 - away) + (1 - same) * home
    return 1 - still / same
