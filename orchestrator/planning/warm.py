"""The steps that exist already, as far as a plan can use them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestrator.model import digest
from orchestrator.planning.forest import Node

if TYPE_CHECKING:
    from orchestrator.execute.port import Held
    from orchestrator.model import Wheel
    from orchestrator.planning.groups import Group


@dataclass(frozen=True, slots=True)
class Warm:
    """Held steps of one base and platform, by key: what each adds, its parent, and how many steps its chain has.

    `places` has, for each set of wheels that a chain ends with, the step to use: that of the shortest.
    """

    added: Mapping[str, int] = field(default_factory=dict)
    parents: Mapping[str, str | None] = field(default_factory=dict)
    depths: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[int, str] = field(default_factory=dict)

    def tree(self) -> Node:
        """Return a new root with a held node for each place."""
        root = Node(0)
        nodes = {0: root}
        total = {key: wheels for wheels, key in self.places.items()}
        for wheels, key in sorted(self.places.items(), key=lambda place: (place[0].bit_count(), place[0])):
            nodes[wheels] = node = Node(wheels, held=key)
            node.attach(nodes[total[key] & ~self.added[key]])
        return root


def key(below: str, recipe: str, wheels: Iterable[Wheel], platform: str) -> str:
    """Return the key of a step on another step, or on a base: of its own and everything below it."""
    return digest([below, recipe, sorted(wheels), platform])


def warm(held: Iterable[Held], group: Group, recipe: str) -> Warm:
    """Take the held steps that this recipe makes and that some lock could stand on, down to the base."""
    bit = {wheel.wheel: 1 << place for place, wheel in enumerate(group.wheels)}
    children: defaultdict[str | None, dict[str, Held]] = defaultdict(dict)
    for step in held:
        if (
            step.base == group.base.digest
            and step.platform == group.platform
            and all(w in bit for w in step.wheels)
        ):
            children[step.parent][step.key] = step
    locks = sorted(set(group.locks.values()))
    added: dict[str, int] = {}
    parents: dict[str, str | None] = {}
    depths: dict[str, int] = {}
    places: dict[int, str] = {}
    waiting: list[tuple[str | None, int, list[int]]] = [(None, 0, locks)]
    while waiting:
        parent, below, able = waiting.pop()
        for name, step in sorted(children[parent].items()):
            wheels = sum(bit[wheel] for wheel in set(step.wheels))
            users = [lock for lock in able if not wheels & ~lock]
            if not wheels or wheels & below or not users:
                continue
            if key(parent or group.base.digest, recipe, set(step.wheels), group.platform) != name:
                continue
            added[name], parents[name] = wheels, parent
            depths[name] = depths[parent] + 1 if parent is not None else 1
            other = places.get(below | wheels, name)
            places[below | wheels] = min(name, other, key=lambda step: (depths[step], step))
            waiting.append((name, below | wheels, users))
    return Warm(added, parents, depths, places)
