"""How few bytes any plan of some locks can store. Pure."""

from __future__ import annotations

import struct
from collections import defaultdict
from itertools import compress
from typing import TYPE_CHECKING

from orchestrator.planning.groups import bits, counted, groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestrator.execute.port import Base, Plan
    from orchestrator.model import Lock

_FIELD = 64


def stored_bytes(plan: Plan) -> int:
    """Return the bytes of the wheels in all steps of a plan, each as often as it is installed."""
    return sum(counted(wheel) for step in plan.steps.values() for wheel in step.distributions)


def distinct_bytes(locks: Sequence[tuple[Lock, Base]]) -> int:
    """Return the bytes of all wheels, each counted once for every base and platform."""
    return sum(sum(group.sizes) for group in groups(locks))


def least_bytes(locks: Sequence[tuple[Lock, Base]]) -> int:
    """Return bytes of wheels below which no plan of these locks can store, whatever a layer costs.

    In a tree where every step has at most two users, each branching saves what all locks above it have in
    common, so at most what any two locks have that part there. Such pairs, one for each branching, span the
    locks: all branchings together save no more than the heaviest tree of pairs does.
    """
    least = 0
    for group in groups(locks):
        sizes = group.sizes
        having: defaultdict[int, int] = defaultdict(int)
        ordered = sorted(set(group.locks.values()))
        for place, lock in enumerate(ordered):
            for bit in bits(lock):
                having[bit] |= 1 << place
        weights: defaultdict[int, int] = defaultdict(int)
        for bit, users in having.items():
            weights[users] += sizes[bit]
        apart = sum(size * users.bit_count() for users, size in weights.items())
        # The tree alone gives no less than every wheel once, but for sizes that had to be rounded.
        least += max(sum(sizes), apart - _heaviest_tree(len(ordered), weights))
    return least


def _heaviest_tree(count: int, weights: Mapping[int, int]) -> int:
    """Return the weight of the maximum spanning tree over `count` locks, or a little more.

    `weights` maps a set of locks to the bytes that just these locks have. An edge weighs what two locks share.
    """
    rows = _Overlaps(count, weights)
    waiting = [True] * count
    waiting[0:1] = [False]
    best = list(compress(rows.of(0), waiting)) if count else []
    """For every lock that waits, the most that it shares with one that is in the tree."""
    total = 0
    while best:
        top = max(best)
        overlap, latest = rows.read(top)
        total += overlap
        best.remove(top)
        waiting[latest] = False
        best = list(map(max, best, compress(rows.of(latest), waiting)))
    return total


class _Overlaps:
    """What one lock shares with each of all locks, computed for all of them in one sum.

    A row is one long integer with a field for every lock: the overlap in the upper bits, the lock's place in the
    lower ones. Adding such integers adds thousands of fields at once.
    """

    def __init__(self, count: int, weights: Mapping[int, int]) -> None:
        self._count = count
        self._place = count.bit_length()
        # Bytes that do not fit into a field are rounded up, which leaves the bound a bound.
        widest = sum(weights.values()).bit_length() + len(weights).bit_length()
        self._shift = max(0, widest + self._place - _FIELD)
        self._rows: list[list[int]] = [[_join(enumerate(range(count)), count)] for _ in range(count)]
        for users, size in sorted(weights.items()):
            places = bits(users)
            share = _join(((place, 1) for place in places), count) * (-(-size >> self._shift) << self._place)
            for place in places:
                self._rows[place].append(share)

    def of(self, place: int) -> tuple[int, ...]:
        """Return the fields of one lock's row."""
        data = sum(self._rows[place]).to_bytes(self._count * _FIELD // 8, "little")
        return struct.unpack(f"<{self._count}Q", data)

    def read(self, field: int) -> tuple[int, int]:
        """Return the overlap in bytes and the place of the lock that a field is about."""
        overlap = field >> self._place << self._shift
        return overlap, field & ((1 << self._place) - 1)


def _join(fields: Iterator[tuple[int, int]], count: int) -> int:
    """Put small numbers into the fields of one long integer."""
    values = [0] * count
    for place, value in fields:
        values[place] = value
    return int.from_bytes(struct.pack(f"<{count}Q", *values), "little")
