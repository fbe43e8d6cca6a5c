"""Which runs show that a set of units is to blame, and which of them are still to be made. Pure.

A culprit fails when it alone is taken from the bad cell, and passes without any one of its members. Where such
a hybrid cannot be had, others show the same as long as failing takes one set: hybrids that fail and have nothing
but the culprit in common, or one that passes with all of the culprit but that member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    Units = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing to be shown of a culprit, and the hybrid that shows it best."""

    culprit: frozenset[int]
    without: int | None
    """The member that is left out; None: the culprit itself."""

    @property
    def fails(self) -> bool:
        """Whether the hybrid is claimed to fail."""
        return self.without is None

    @property
    def hybrid(self) -> frozenset[int]:
        """What it takes from the bad cell."""
        return self.culprit - {self.without}

    def shown(self, runs: Mapping[Units, bool], impossible: Collection[Units]) -> tuple[Units, ...]:
        """Return the hybrids that show the claim, none if it is not shown; `runs` says which hybrids are bad."""
        if self.hybrid not in impossible:
            return (self.hybrid,) if runs.get(self.hybrid) is self.fails else ()
        if not self.fails:
            passing = [one for one, bad in runs.items() if not bad and self._stands_in(one)]
            return tuple(sorted(passing, key=_order)[:1])
        needed: list[Units] = []
        common: Units | None = None
        for one in sorted((one for one, bad in runs.items() if bad and self._stands_in(one)), key=_order):
            if common is None or common & one != common:
                common = one if common is None else common & one
                needed.append(one)
        return tuple(needed) if common == self.culprit else ()

    def wanted(
        self, runs: Mapping[Units, bool], impossible: Collection[Units], hybrids: Iterable[Units]
    ) -> Units | None:
        """Return the hybrid to run for a claim that is not shown: its own or, if impossible, one of `hybrids`."""
        if self.hybrid not in impossible:
            return self.hybrid
        free = (one for one in hybrids if one not in runs and one not in impossible and self._stands_in(one))
        if not self.fails:
            return min(free, key=_order, default=None)
        failing = [one for one, bad in runs.items() if bad and self._stands_in(one)]
        doubtful = frozenset.intersection(*failing) - self.culprit
        return min(
            (one for one in free if not doubtful <= one),
            key=lambda one: (len(one & doubtful), _order(one)),
            default=None,
        )

    def _stands_in(self, hybrid: Units) -> bool:
        return self.hybrid <= hybrid and self.without not in hybrid


def claims(culprit: frozenset[int]) -> tuple[Claim, ...]:
    """Return what is to be shown of a culprit: that it fails, and that it passes without each of its members."""
    return tuple(Claim(culprit=culprit, without=member) for member in (None, *sorted(culprit)))


def _order(hybrid: Units) -> tuple[int, list[int]]:
    return len(hybrid), sorted(hybrid)
