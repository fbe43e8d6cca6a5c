"""The search for a cheap tree: share, move, try. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.planning.forest import Node, Weights, cost
from orchestrator.planning.moves import regraft, tidy
from orchestrator.planning.sharing import share
from orchestrator.planning.trials import bring_together

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROUNDS = 4
"""How often a tree is gone over at most."""

DEEPEST = 32
"""The most steps in a chain: engines stack no more than about 125 layers, and a step may be two of them."""


def grow(root: Node, locks: Iterable[int], weigh: Weights) -> Node:
    """Put an environment for every lock on a tree of held nodes, and return the root.

    An empty lock has none: it would be the root.
    """
    held = {node.wheels: node for node in root.above()}
    for wheels in sorted(set(locks) - {0}):
        if wheels in held:
            held[wheels].wanted = True
        else:
            Node(wheels, wanted=True).attach(root)
    share(root, weigh)
    before = cost(root, weigh)
    for _ in range(ROUNDS):
        regraft(root, weigh)
        tidy(root, weigh)
        root = bring_together(root, weigh)
        now = cost(root, weigh)
        if now >= before:
            break
        before = now
    return root


def shorten(root: Node, depths: Mapping[str, int]) -> None:
    """Put on the base what would stand higher than `DEEPEST`. `depths` tells how high held steps stand, by key."""
    known = {id(root): 0}
    for node in list(root.above()):
        if node.held is not None:
            known[id(node)] = depths[node.held]
            continue
        depth = known[id(node.below)] + 1
        if depth > DEEPEST:
            node.detach()
            node.attach(root)
            depth = 1
        known[id(node)] = depth
