"""Which sets of units may be to blame, and how likely each is before anything is run. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = 3
"""The most units of a suspect."""

_MASS = {1: 0.8, 2: 0.2, 3: 0.01}
"""Of all suspects of a size, before normalisation."""

_ELSE = 0.002
"""Of what no suspect describes: more units, or no single minimal set at all."""

_MOST = {1: 10_000, 2: 2_000, 3: 1_200}
"""Suspects of a size, at most: where units are many, larger sets are taken from the likelier units."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Suspects:
    """Sets of unit numbers with their prior. The last entry of `prior` is that it is something else."""

    units: int
    """How many units there are."""
    sets: tuple[frozenset[int], ...]
    members: NDArray[np.intp]
    """Shape (suspects, LARGEST); smaller sets repeat a member."""
    prior: NDArray[np.float64]

    def within(self, hybrids: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which suspects lie in which hybrids, shape (hybrids, suspects); hybrids are (hybrids, units)."""
        inside = hybrids[:, self.members[:, 0]]
        for column in self.members.T[1:]:
            inside = inside & hybrids[:, column]
        return inside


@lru_cache(maxsize=32)
def suspects(weights: tuple[float, ...]) -> Suspects:
    """Return the suspects among units of these weights; a set is as likely as the product of its weights."""
    order = sorted(range(len(weights)), key=lambda unit: (-weights[unit], unit))
    sets: list[frozenset[int]] = []
    prior: list[float] = []
    for size in range(1, min(LARGEST, len(weights)) + 1):
        some = list(combinations(sorted(order[: _units(len(weights), size)]), size))
        likely = [prod(weights[unit] for unit in one) for one in some]
        sets.extend(frozenset(one) for one in some)
        prior.extend(_MASS[size] * one / sum(likely) for one in likely)
    masses = np.array([*prior, _ELSE])
    members = np.array([_padded(sorted(one)) for one in sets], dtype=np.intp)
    return Suspects(units=len(weights), sets=tuple(sets), members=members, prior=masses / masses.sum())


def _units(units: int, size: int) -> int:
    """Return how many of the likelier units sets of this size are taken from."""
    while comb(units, size) > _MOST[size]:
        units -= 1
    return units


def _padded(members: Sequence[int]) -> list[int]:
    return [*members, *[members[-1]] * (LARGEST - len(members))]
