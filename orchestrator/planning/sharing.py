"""Share what saves most, from the root upwards. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from orchestrator.planning.forest import LAYER_COST, Node, Weights
from orchestrator.planning.groups import bits

if TYPE_CHECKING:
    from collections.abc import Iterator


def share(root: Node, weigh: Weights) -> None:
    """Make nodes for what children have in common, and use held nodes, the largest saving first.

    A held node saves its wheels for each of its users, a new one for each but the first.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        siblings = _Siblings(node, weigh)
        while (offer := siblings.best()) is not None:
            siblings.take(offer)
        waiting.extend(child for child in node.new if len(child.children) > 1)
        waiting.extend(siblings.touched)


class _Offer(NamedTuple):
    """What some children of a node could stand on together. The largest is the best."""

    saved: int
    wheels: int
    users: int
    """The children, as bits by their place."""
    held: Node | None


class _Siblings:
    """The children of one node that are not held, by their place."""

    def __init__(self, node: Node, weigh: Weights) -> None:
        self._node = node
        self._weigh = weigh
        self._children = sorted(node.new, key=lambda child: child.wheels)
        self._place = {child.wheels: place for place, child in enumerate(self._children)}
        self._having: dict[int, int] = defaultdict(int)
        """Who has each wheel that the node has not."""
        for place, child in enumerate(self._children):
            self._enter(place, child)
        self._held, self._able = _held_above(node, self._children)
        self._offers: dict[int, _Offer | None] = {}
        """The offers to some children that are known; they hold until one of these moves."""
        self.touched: list[Node] = []
        """The held nodes that got children."""

    def best(self) -> _Offer | None:
        """Return the offer that saves most, if any saves anything."""
        anchors = (self._on_held(wheels, users) for wheels, users in self._able.items() if users)
        return max((offer for offer in (*anchors, *self._on_new()) if offer is not None), default=None)

    def take(self, offer: _Offer) -> None:
        """Put the children on what they were offered."""
        moving = offer.users
        parent = offer.held
        if parent is not None:
            self.touched.append(parent)
        elif (place := self._place.get(offer.wheels)) is not None:
            parent = self._children[place]
            moving &= ~(1 << place)
        else:
            parent = Node(offer.wheels)
            parent.attach(self._node)
        for place in bits(moving):
            self._children[place].detach()
            self._children[place].attach(parent)
            del self._place[self._children[place].wheels]
        for users in (self._having, self._able):
            for wheels in users:
                users[wheels] &= ~moving
        self._offers = {users: known for users, known in self._offers.items() if not users & moving}
        if parent.held is None and parent.wheels not in self._place:
            place = len(self._children)
            self._children.append(parent)
            self._place[parent.wheels] = place
            self._enter(place, parent)

    def _enter(self, place: int, child: Node) -> None:
        rest = child.wheels & ~self._node.wheels
        while rest:
            low = rest & -rest
            self._having[low] |= 1 << place
            rest ^= low

    def _on_held(self, wheels: int, users: int) -> _Offer | None:
        saved = users.bit_count() * self._weigh(wheels & ~self._node.wheels)
        return _Offer(saved, wheels, users, self._held[wheels]) if saved else None

    def _on_new(self) -> Iterator[_Offer | None]:
        together: defaultdict[int, int] = defaultdict(int)
        for wheel, users in self._having.items():
            if users & (users - 1):
                together[users] |= wheel
        for users in together:
            if users not in self._offers:
                self._offers[users] = self._offer(users, together)
            yield self._offers[users]

    def _offer(self, users: int, together: dict[int, int]) -> _Offer | None:
        shared = 0
        for others, wheels in together.items():
            if others & users == users:
                shared |= wheels
        wheels = shared | self._node.wheels
        layer = 0 if wheels in self._place else LAYER_COST
        saved = (users.bit_count() - 1) * self._weigh(shared) - layer
        return _Offer(saved, wheels, users, None) if saved > 0 else None


def _held_above(node: Node, children: list[Node]) -> tuple[dict[int, Node], dict[int, int]]:
    """Return the held nodes above a node by their wheels, and which of its children could stand on each."""
    found: dict[int, Node] = {}
    able: defaultdict[int, int] = defaultdict(int)
    for place, child in enumerate(children):
        waiting = [node]
        while waiting:
            for held in waiting.pop().children:
                if held.held is not None and held.wheels & ~child.wheels == 0:
                    found.setdefault(held.wheels, held)
                    able[held.wheels] |= 1 << place
                    waiting.append(held)
    return found, able
