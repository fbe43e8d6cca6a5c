"""Try changes of a tree that pay only after others have followed. Pure."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from orchestrator.planning.forest import Node, Weights, cost
from orchestrator.planning.moves import best_place, put, regraft, take_out, tidy
from orchestrator.planning.sharing import share

if TYPE_CHECKING:
    from collections.abc import Iterable

EFFORT = 400_000
"""Trials times the nodes of the tree, squared: a tree of 60 nodes gets a hundred trials, one of 700 none."""


def bring_together(root: Node, weigh: Weights) -> Node:
    """Return the tree, or a cheaper one where nodes stand together that have much in common and stood apart."""
    nodes = [node for node in root.above() if node.held is None]
    trials = EFFORT // max(1, len(nodes)) ** 2
    if trials == 0:
        return root
    cheapest = cost(root, weigh)
    for pair in _promising(nodes, weigh)[:trials]:
        trial = root.copy()
        if not _join(trial, pair, weigh):
            continue
        regraft(trial, weigh, but=pair)  # they would go back before anything else could follow them
        regraft(trial, weigh)
        share(trial, weigh)
        tidy(trial, weigh)
        now = cost(trial, weigh)
        if now < cheapest:
            root, cheapest = trial, now
    return root


def _promising(nodes: Iterable[Node], weigh: Weights) -> list[tuple[int, int]]:
    """Return pairs, by their wheels, that could save more together than where they stand, the best first."""
    spared = {node.wheels: weigh(node.below.wheels) for node in nodes}
    found: list[tuple[int, int, int]] = []
    for one, other in combinations(sorted(spared), 2):
        common = one & other
        hope = 2 * weigh(common) - spared[one] - spared[other]
        if hope > 0 and common not in (one, other):
            found.append((-hope, one, other))
    return [(one, other) for _, one, other in sorted(found)]


def _join(root: Node, pair: tuple[int, int], weigh: Weights) -> bool:
    """Let two nodes stand on what they have in common; False where one of them is gone by now."""
    there = [node for node in root.above() if node.wheels in pair]
    if len(there) < len(pair):
        return False
    common = Node(pair[0] & pair[1])
    for node in there:
        take_out(node, weigh)
    for node in there:
        node.attach(common)
    put(common, best_place(root, common.wheels, weigh))
    return True
