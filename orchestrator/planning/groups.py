"""Locks that can share steps at all, with their wheels as bits of integers. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.execute.port import Base
from orchestrator.model import Distribution, Lock, Wheel

UNKNOWN_SIZE = 10**6
"""What a wheel counts whose size the index does not tell, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The locks of one base and platform. A set of wheels is an integer: bit n stands for `wheels[n]`."""

    base: Base
    platform: str
    wheels: tuple[Distribution, ...]
    """Sorted by what they are, each once."""
    locks: Mapping[str, int]
    """Lock digest to its set of wheels."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The bytes of every wheel, in the order of `wheels`."""
        return tuple(map(counted, self.wheels))

    def members(self, wheels: int) -> tuple[Distribution, ...]:
        """Return the distributions of a set, sorted."""
        return tuple(self.wheels[bit] for bit in bits(wheels))


def groups(locks: Sequence[tuple[Lock, Base]]) -> list[Group]:
    """Part locks by base and platform. What comes out depends on the set of locks, not on their order."""
    parted: dict[tuple[str, str], dict[str, Lock]] = defaultdict(dict)
    bases: dict[str, Base] = {}
    known: dict[Wheel, Distribution] = {}
    wheels: dict[str, list[Wheel]] = {}
    for lock, base in locks:
        key = lock.digest
        parted[base.digest, lock.platform][key] = lock
        bases[base.digest] = min(base, bases.get(base.digest, base), key=_naming)
        if key not in wheels:
            wheels[key] = [found.wheel for found in lock.installs]
        for wheel, found in zip(wheels[key], lock.installs, strict=True):
            other = known.setdefault(wheel, found)
            if other is not found:
                known[wheel] = min(found, other, key=_preference)
    made = []
    for (digest, platform), members in sorted(parted.items()):
        ordered = sorted({wheel for key in members for wheel in wheels[key]})
        bit = {wheel: 1 << place for place, wheel in enumerate(ordered)}
        group = Group(
            base=bases[digest],
            platform=platform,
            wheels=tuple(known[wheel] for wheel in ordered),
            locks={key: sum(bit[wheel] for wheel in set(wheels[key])) for key in sorted(members)},
        )
        made.append(group)
    return made


def counted(distribution: Distribution) -> int:
    """Return the bytes that a wheel counts."""
    return UNKNOWN_SIZE if distribution.size is None else distribution.size


def bits(wheels: int) -> list[int]:
    """Return the places of the bits that are set, ascending."""
    places = []
    while wheels:
        low = wheels & -wheels
        places.append(low.bit_length() - 1)
        wheels ^= low
    return places


def _preference(distribution: Distribution) -> tuple[bool, str, str, int]:
    # Two indexes may serve the same wheel: take the one that tells the size, then any, but always the same one.
    return distribution.size is None, distribution.url, distribution.index, distribution.size or 0


def _naming(base: Base) -> tuple[str, str, str]:
    return base.reference, base.python, base.origin
