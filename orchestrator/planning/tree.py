"""Plan the layers that many locks share, as a tree. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestrator.execute.port import Base, Plan, Step
from orchestrator.model import Distribution, Lock, Wheel, digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

UNKNOWN_SIZE = 10**6
"""What a wheel counts whose size the index does not tell."""

WORTH_SHARING = 30 * 10**6
"""Bytes that a shared layer has to save; below that it costs more than it gives."""


def plan_layers(locks: Sequence[tuple[Lock, Base]], dockerfile: str) -> Plan:
    """Plan the environments of all locks together.

    Every lock's chain of steps installs exactly its distributions. The plan depends on the set of locks alone,
    not on their order.
    """
    groups: dict[tuple[str, str], dict[str, Lock]] = defaultdict(dict)
    bases: dict[str, Base] = {}
    wheels: dict[Wheel, Distribution] = {}
    for lock, base in locks:
        groups[base.digest, lock.platform][lock.digest] = lock
        bases[base.digest] = base
        for found in lock.distributions:
            wheels[found.wheel] = min(found, wheels.get(found.wheel, found), key=_preference)
    tree = _Tree(wheels=wheels, dockerfile=dockerfile)
    for (base_digest, platform), members in sorted(groups.items()):
        rest = {key: frozenset(d.wheel for d in lock.distributions) for key, lock in members.items()}
        tree.grow(_Root(bases[base_digest], platform), None, rest)
    return Plan(steps=tree.steps, environments=tree.environments)


@dataclass(frozen=True, slots=True)
class _Root:
    base: Base
    platform: str


@dataclass(slots=True, kw_only=True)
class _Tree:
    wheels: Mapping[Wheel, Distribution]
    dockerfile: str
    steps: dict[str, Step] = field(default_factory=dict)
    environments: dict[str, str] = field(default_factory=dict)

    def grow(self, root: _Root, parent: str | None, rest: Mapping[str, frozenset[Wheel]]) -> None:
        """Put what is left of some locks on top of one step."""
        left: dict[str, frozenset[Wheel]] = {}
        for lock, wheels in sorted(rest.items()):
            if wheels or parent is None:
                left[lock] = wheels
            else:
                self.environments[lock] = parent
        while left:
            sharing = self._share(left)
            common = frozenset.intersection(*(left[lock] for lock in sharing))
            step = self._add(root, parent, common)
            self.grow(root, step, {lock: left.pop(lock) - common for lock in sharing})

    def _share(self, left: Mapping[str, frozenset[Wheel]]) -> tuple[str, ...]:
        """Choose the locks of the next step: all of them, those that save most by sharing, or the first alone."""
        everybody = tuple(sorted(left))
        if self._saved(everybody, left) >= WORTH_SHARING or len(set(left.values())) == 1:
            return everybody
        having: dict[Wheel, list[str]] = defaultdict(list)
        for lock in everybody:
            for wheel in left[lock]:
                having[wheel].append(lock)
        candidates = sorted({tuple(locks) for locks in having.values() if len(locks) > 1})
        best = max(candidates, key=lambda locks: self._saved(locks, left), default=())
        return best if self._saved(best, left) >= WORTH_SHARING else everybody[:1]

    def _saved(self, locks: tuple[str, ...], left: Mapping[str, frozenset[Wheel]]) -> int:
        if not locks:
            return 0
        common = frozenset.intersection(*(left[lock] for lock in locks))
        return (len(locks) - 1) * sum(self.wheels[w].size or UNKNOWN_SIZE for w in common)

    def _add(self, root: _Root, parent: str | None, wheels: Iterable[Wheel]) -> str:
        ordered = sorted(wheels)
        key = digest([parent or root.base.digest, self.dockerfile, ordered, root.platform])
        self.steps[key] = Step(
            key=key,
            parent=parent,
            base=root.base,
            distributions=tuple(self.wheels[wheel] for wheel in ordered),
            download=sum(self.wheels[wheel].size or 0 for wheel in ordered),
        )
        return key


def _preference(distribution: Distribution) -> tuple[bool, str, str]:
    # Two indexes may serve the same wheel: take the one that tells the size, then any, but always the same one.
    return distribution.size is None, distribution.url, distribution.index
