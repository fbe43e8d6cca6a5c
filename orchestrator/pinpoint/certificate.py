"""What may hide between two tested versions of the same state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def hidden(steps: NDArray[np.float64], introduced: float, fixed: float, *, bad: bool) -> float:
    """Return the probability of a change and a change back between two versions known to be in the same state.

    `steps` are the shares of the axis between them, `introduced` and `fixed` the expected numbers of changes along
    all of it, `bad` their state. For m equal steps with chances i and f to change, between ok versions, it is
    1 - (1-i)^m (i+f) / (f + i (1-i-f)^m): one minus the chance that nothing changed, given where it ended.
    """
    leave = -np.expm1(-steps * (fixed if bad else introduced))
    back = -np.expm1(-steps * (introduced if bad else fixed))
    same = 1.0
    for away, home in zip(leave, back, strict=True):
        same = same * (1 - away) + (1 - same) * home
    return float(1 - np.prod(1 - leave) / same)
