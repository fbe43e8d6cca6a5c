"""Better a tree step by step: move what stands better elsewhere, take out what does not pay. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from orchestrator.planning.forest import LAYER_COST, Node, Weights

if TYPE_CHECKING:
    from collections.abc import Collection


class Place(NamedTuple):
    """Where a node could stand, and what that spares compared with standing on the base, in bytes."""

    saved: int
    parent: Node
    beside: tuple[Node, ...] = ()
    """Children of the parent: those that the node goes below, or one with which it shares a new node."""


class Cut(NamedTuple):
    """A node that was taken out, and how to put it back."""

    node: Node
    parent: Node
    only: Node | None
    """The sibling that was left alone, for which the parent was taken out as well."""
    saved: int
    """What the node's place spared it."""


def regraft(root: Node, weigh: Weights, but: Collection[int] = ()) -> None:
    """Move every node, with all that stands on it, to where it stands best; but not those with some wheels."""
    for node in sorted((node for node in root.above() if node.held is None), key=lambda node: node.wheels):
        if node.parent is None or node.wheels in but:  # without a parent: was taken out meanwhile
            continue
        cut = take_out(node, weigh)
        place = best_place(root, node.wheels, weigh)
        if place.saved > cut.saved:
            put(node, place)
        else:
            put_back(cut)


def tidy(root: Node, weigh: Weights) -> None:
    """Make every node hold all that its children share, and take out those that do not pay or occur twice."""
    for node in reversed(list(root.above())):
        if node.fixed:
            continue
        _fill(node)
        saved = (len(node.children) - 1) * weigh(node.wheels & ~node.below.wheels)
        if saved <= LAYER_COST:
            node.dissolve()
    _unite(root)


def best_place(root: Node, wheels: int, weigh: Weights) -> Place:
    """Return where a node with these wheels would best stand."""
    best = Place(0, root)
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        below = weigh(parent.wheels)
        if below > best.saved:
            best = Place(below, parent)
        rest = wheels & ~parent.wheels
        larger: list[Node] = []
        for child in parent.children:
            common = child.wheels & rest
            if not common:
                continue
            if child.wheels & ~wheels == 0:
                waiting.append(child)
            elif child.held is not None:
                continue
            elif common == rest:
                larger.append(child)
            elif (saved := below + weigh(common) - LAYER_COST) > best.saved:
                best = Place(saved, parent, (child,))
        if larger and (saved := below + len(larger) * weigh(rest)) > best.saved:
            best = Place(saved, parent, tuple(larger))
    return best


def put(node: Node, place: Place) -> None:
    """Let a node without a parent stand somewhere."""
    common = node.wheels
    for sibling in place.beside:
        common &= sibling.wheels
    shared = node if common == node.wheels else Node(common)
    shared.attach(place.parent)
    for sibling in place.beside:
        sibling.detach()
        sibling.attach(shared)
    if shared is not node:
        node.attach(shared)


def take_out(node: Node, weigh: Weights) -> Cut:
    """Take a node off its parent, and the parent out where one child alone is left."""
    parent = node.detach()
    saved = weigh(parent.wheels)
    if parent.fixed or len(parent.children) != 1:
        return Cut(node, parent, None, saved)
    only = parent.children[0]
    parent.dissolve()
    return Cut(node, parent, only, saved - LAYER_COST)


def put_back(cut: Cut) -> None:
    """Undo `take_out`, where nothing was changed since."""
    if cut.only is not None:
        cut.parent.attach(cut.only.detach())
        cut.only.attach(cut.parent)
    cut.node.attach(cut.parent)


def _fill(node: Node) -> None:
    """Let a node hold all that its children share; a child that holds no more than that takes its place."""
    if not node.children:
        return
    node.wheels = node.in_common()
    for child in node.children:
        if child.wheels == node.wheels:
            for other in [other for other in node.children if other is not child]:
                other.detach()
                other.attach(child)
            return


def _unite(root: Node) -> None:
    """Make one node of those that hold the same wheels: the fixed one, if there is one."""
    known: dict[int, Node] = {}
    for node in sorted(root.above(), key=lambda node: not node.fixed):
        kept = known.setdefault(node.wheels, node)
        if kept is not node:
            node.detach()
            for child in node.children:
                child.attach(kept)
            node.children = []
