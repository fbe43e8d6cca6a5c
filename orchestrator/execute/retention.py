"""What may go when disk is short: in which order steps are dropped. Pure."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from orchestrator.execute.port import Held


def drop_order(held: Mapping[str, Held], needed: Iterable[str]) -> tuple[str, ...]:
    """Return the steps that nothing needed stands on, in the order to drop them.

    What others stand on comes after them; of those that may go, the least recently used comes first.
    """
    kept: set[str] = set()
    for key in needed:
        kept.update(_with_ancestors(held, key))
    used = last_used(held)
    children: dict[str, int] = dict.fromkeys(held, 0)
    for step in held.values():
        if (below := _below(step)) in children:
            children[below] += 1
    free = [(used[key], key) for key, count in children.items() if not count and key not in kept]
    heapq.heapify(free)
    order = []
    while free:
        _, key = heapq.heappop(free)
        order.append(key)
        below = _below(held[key])
        if below in children:
            children[below] -= 1
            if not children[below] and below not in kept:
                heapq.heappush(free, (used[below], below))
    return tuple(order)


def last_used(held: Mapping[str, Held]) -> dict[str, datetime]:
    """Return when each step was last used, by itself or by what stands on it."""
    used: dict[str, datetime] = {}
    for key, step in held.items():
        for at in _with_ancestors(held, key):
            used[at] = max(used.get(at, step.used), step.used)
    return used


def standing_on(held: Mapping[str, Held], key: str) -> tuple[str, ...]:
    """Return the step itself and all that it stands on, the base last."""
    return tuple(_with_ancestors(held, key))


def _below(step: Held) -> str:
    """Return what a step stands on: its parent, or the base, which stands on nothing."""
    return step.parent or (step.base if step.base != step.key else "")


def _with_ancestors(held: Mapping[str, Held], key: str) -> list[str]:
    found = []
    at = key
    while at:
        found.append(at)
        at = _below(held[at]) if at in held else ""
    return found
