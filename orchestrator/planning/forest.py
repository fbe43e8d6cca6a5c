"""A tree of wheel sets that grows, and what it costs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LAYER_COST = 30 * 10**6
"""What one more step costs beside its wheels, in bytes of wheels: the time to make it, its overhead on disk."""


class Node:
    """A step: `wheels` is everything that is installed where it ends, its parents' wheels included.

    A node that is held costs nothing and stays as it is; one that is wanted is the environment of a lock. Every
    other node is there because its children share it.
    """

    __slots__ = ("children", "held", "parent", "wanted", "wheels")

    def __init__(self, wheels: int, *, wanted: bool = False, held: str | None = None) -> None:
        self.wheels = wheels
        self.wanted = wanted
        self.held = held
        """The key under which it exists already."""
        self.parent: Node | None = None
        self.children: list[Node] = []

    @property
    def below(self) -> Node:
        """Its parent, which every node but the root has."""
        if self.parent is None:
            raise ValueError("the root stands on nothing")
        return self.parent

    @property
    def fixed(self) -> bool:
        """Whether it stays, whoever stands on it."""
        return self.wanted or self.held is not None or self.parent is None

    @property
    def new(self) -> list[Node]:
        """Those of its children that are not held, of which each could as well stand elsewhere."""
        return [child for child in self.children if child.held is None]

    def attach(self, parent: Node) -> None:
        """Put it on a parent."""
        self.parent = parent
        parent.children.append(self)

    def detach(self) -> Node:
        """Take it off its parent, which is returned; its children stay with it."""
        parent = self.below
        parent.children.remove(self)
        self.parent = None
        return parent

    def dissolve(self) -> None:
        """Take it out; its children move to its parent."""
        parent = self.detach()
        for child in self.children:
            child.attach(parent)
        self.children = []

    def above(self) -> Iterator[Node]:
        """Walk all nodes above, parents first."""
        waiting = [*reversed(self.children)]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def copy(self) -> Node:
        """Return a tree like the one that stands on this root."""
        root = Node(self.wheels)
        copies = {id(self): root}
        for node in self.above():
            copies[id(node)] = copied = Node(node.wheels, wanted=node.wanted, held=node.held)
            copied.attach(copies[id(node.below)])
        return root

    def in_common(self) -> int:
        """Return the wheels that all its children have."""
        common = -1
        for child in self.children:
            common &= child.wheels
        return common


class Weights:
    """The bytes of sets of wheels."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = {1 << place: size for place, size in enumerate(sizes)}
        self._known = {0: 0}

    def __call__(self, wheels: int) -> int:
        """Return the bytes of one set."""
        weight = self._known.get(wheels)
        if weight is None:
            weight, rest, sizes = 0, wheels, self._sizes
            while rest:
                low = rest & -rest
                weight += sizes[low]
                rest ^= low
            self._known[wheels] = weight
        return weight


def cost(root: Node, weigh: Weights) -> int:
    """Return what the steps cost that are not held: their wheels, and each of them for being a layer."""
    return sum(weigh(node.wheels & ~node.below.wheels) + LAYER_COST for node in root.above() if node.held is None)
