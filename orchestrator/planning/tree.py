"""Plan the layers that many locks share, as a tree. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestrator.execute.port import Plan, Step
from orchestrator.model import Wheel
from orchestrator.planning.forest import Node, Weights
from orchestrator.planning.groups import groups
from orchestrator.planning.search import grow, shorten
from orchestrator.planning.warm import key, warm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.execute.port import Base, Held
    from orchestrator.model import Lock
    from orchestrator.planning.groups import Group
    from orchestrator.planning.warm import Warm


def plan_steps(locks: Sequence[tuple[Lock, Base]], recipe: str, held: Iterable[Held] = ()) -> Plan:
    """Plan the environments of all locks together, as cheap as can be found.

    Every lock's chain of steps installs exactly its distributions. A step costs the bytes of its wheels and
    `LAYER_COST`; one that is held, from whichever plan, costs nothing. The plan depends on the set of locks and
    the set of held steps, not on their order.
    """
    there = tuple(held)
    plan = _Plan(recipe)
    for group in groups(locks):
        steps = warm(there, group, recipe)
        root = grow(steps.tree(), group.locks.values(), Weights(group.sizes))
        shorten(root, steps.depths)
        plan.add(group, steps, root)
    return Plan(steps=plan.steps, environments=plan.environments)


@dataclass(slots=True)
class _Plan:
    """The steps of the groups that were added, parents first."""

    recipe: str
    steps: dict[str, Step] = field(default_factory=dict)
    environments: dict[str, str] = field(default_factory=dict)
    _counted: set[Wheel] = field(default_factory=set)

    def add(self, group: Group, held: Warm, root: Node) -> None:
        """Write down the chains of a group's locks."""
        keys: dict[int, str] = {}
        wanted = {node.wheels for node in root.above() if node.wanted}
        for node in _useful(root):
            if node.held is not None:
                self._held(group, held, node.held)
                keys[node.wheels] = node.held
            else:
                keys[node.wheels] = self._step(
                    group, keys.get(node.below.wheels), node.wheels & ~node.below.wheels
                )
        for lock, wheels in group.locks.items():
            self.environments[lock] = keys[wheels] if wheels in wanted else self._step(group, None, wheels)

    def _held(self, group: Group, held: Warm, last: str) -> None:
        chain: list[str] = []
        step: str | None = last
        while step is not None and step not in self.steps:
            chain.append(step)
            step = held.parents[step]
        for name in reversed(chain):
            self._step(group, held.parents[name], held.added[name])

    def _step(self, group: Group, parent: str | None, wheels: int) -> str:
        distributions = group.members(wheels)
        name = key(
            parent or group.base.digest, self.recipe, [wheel.wheel for wheel in distributions], group.platform
        )
        new = [wheel for wheel in distributions if wheel.wheel not in self._counted]
        if name not in self.steps:
            self.steps[name] = Step(
                key=name,
                parent=parent,
                base=group.base,
                platform=group.platform,
                distributions=distributions,
                download=sum(wheel.size or 0 for wheel in new),
            )
            self._counted.update(wheel.wheel for wheel in new)
        return name


def _useful(root: Node) -> list[Node]:
    """Return the nodes that environments stand on, and these, parents first and otherwise in a fixed order."""
    nodes = list(root.above())
    useful: set[int] = set()
    for node in reversed(nodes):
        if node.wanted or any(child.wheels in useful for child in node.children):
            useful.add(node.wheels)
    return sorted(
        (node for node in nodes if node.wheels in useful), key=lambda node: (node.wheels.bit_count(), node.wheels)
    )
