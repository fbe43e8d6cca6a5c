"""Which hybrids are worth a look: all of them where units are few, otherwise a fixed sample. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

EXHAUSTIVE = 12
"""Up to so many units every hybrid is looked at."""

_HALF = 0.5
_DENSITIES = (0.3, _HALF, 0.6, 0.7, 0.8, 0.9)
"""Shares of the units that sampled hybrids take: half splits single units, about 0.7 splits pairs."""

_SAMPLES = 100
_PARTS = 40
_SEED = 20_240_229


def hybrids(
    units: int, focus: Iterable[frozenset[int]] = (), failing: Iterable[frozenset[int]] = (), draw: int = 0
) -> NDArray[np.bool_]:
    """Return distinct hybrids, shape (hybrids, units), neither empty nor full, in a fixed order.

    Where not all are looked at, there are single units and their complements, sets around each one in `focus`,
    parts of each in `failing`, and random sets; `draw` tells one random sample from another.
    """
    if units <= EXHAUSTIVE:
        return _all(units)
    random = np.random.default_rng((_SEED, draw))
    one = np.eye(units, dtype=np.bool_)
    rows = [one, ~one]
    rows.extend(random.random((_SAMPLES, units)) < density for density in _DENSITIES)
    rows.extend(row(members, units) & (random.random((_PARTS, units)) < _HALF) for members in failing)
    for members in focus:
        core = row(members, units)
        rows.extend((core[None], core | one, core & ~one))
    stacked = np.unique(np.concatenate(rows), axis=0)
    taken = np.count_nonzero(stacked, axis=1)
    chosen: NDArray[np.bool_] = stacked[(taken > 0) & (taken < units)]
    return chosen


def row(members: Collection[int], units: int) -> NDArray[np.bool_]:
    """Return a set of unit numbers as a row of flags."""
    flags = np.zeros(units, dtype=np.bool_)
    flags[list(members)] = True
    return flags


def sets(rows: NDArray[np.bool_]) -> list[frozenset[int]]:
    """Return rows of flags as sets of unit numbers."""
    return [frozenset(np.flatnonzero(one).tolist()) for one in rows]


@lru_cache(maxsize=4)
def _all(units: int) -> NDArray[np.bool_]:
    numbers = np.arange(1, 2**units - 1)
    every: NDArray[np.bool_] = (numbers[:, None] >> np.arange(units)) & 1 == 1
    every.flags.writeable = False
    return every
