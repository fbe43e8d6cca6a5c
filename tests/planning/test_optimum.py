"""Plans against the best that there is, found by trying everything."""

import random
from functools import cache
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from many_locks import BASE, locked, prepared, wheel
from orchestrator.planning import least_bytes, plan_steps, stored_bytes
from orchestrator.planning.forest import LAYER_COST

MB = 10**6


def weigh(wheels):
    return sum(found.size for found in wheels)


def subsets(bits):
    part = bits
    while part:
        yield part
        part = (part - 1) & bits


class Optimum:
    """The cheapest forest over some sets of wheels, by dynamic programming over all sets of locks.

    A node holds what its locks have in common: whatever else it held, it would cost no less.
    """

    def __init__(self, sets, layer=LAYER_COST):
        self._sets = sorted(set(sets), key=sorted_names)
        self._layer = layer
        self._node, self._parted = cache(self._node), cache(self._parted)

    @property
    def cost(self):
        return self._parted((1 << len(self._sets)) - 1, 0, None)

    def _node(self, locks):
        """Return what a node for some locks costs on the bare base, with all above it."""
        sets = {1 << n: found for n, found in enumerate(self._sets) if locks >> n & 1}
        common = frozenset.intersection(*sets.values())
        rest = sum(bit for bit, found in sets.items() if found != common)
        return self._layer + weigh(common) + self._parted(rest, weigh(common), locks)

    def _parted(self, locks, below, whole):
        """Return what it costs to part locks into nodes, none of them for the whole, on so many bytes below."""
        if not locks:
            return 0
        first = locks & -locks
        return min(
            self._node(part) - below + self._parted(locks & ~part, below, whole)
            for part in subsets(locks)
            if part & first and part != whole
        )


def warm_optimum(sets, held):
    """Return what the cheapest forest costs where some sets of wheels are there for nothing."""
    sets = sorted(set(sets), key=sorted_names)
    anchors = [*sorted(held, key=sorted_names), frozenset()]

    @cache
    def on(anchor, locks):
        chosen = [found for n, found in enumerate(sets) if locks >> n & 1]
        return Optimum(found - anchor for found in chosen if found not in held).cost

    @cache
    def parted(place, locks):
        anchor = anchors[place]
        if place + 1 == len(anchors):
            return on(anchor, locks)
        able = sum(1 << n for n, found in enumerate(sets) if locks >> n & 1 and anchor <= found)
        return min(on(anchor, part) + parted(place + 1, locks & ~part) for part in (0, *subsets(able)))

    return parted(0, (1 << len(sets)) - 1)


def sorted_names(wheels):
    return sorted(found.url for found in wheels)


def cost(planned, held=()):
    there = {step.key for step in held}
    return sum(LAYER_COST + weigh(step.distributions) for step in planned.steps.values() if step.key not in there)


def plan(sets, held=()):
    return plan_steps([(locked(*wheels), BASE) for wheels in sets], "FROM x", held)


def any_case(order, most):
    """Return a few sets from a pool of wheels whose sizes have a heavy tail: the hardest there is."""
    sizes = (order.paretovariate(0.5) * order.choice([1, 5, 20]) for _ in range(order.randint(4, 14)))
    pool = [wheel(f"d{n}", int(min(3000, size)) * MB) for n, size in enumerate(sizes)]
    share = order.choice([0.3, 0.5, 0.7, 0.85])
    return [frozenset(w for w in pool if order.random() < share) for _ in range(order.randint(1, most))]


def torch_case(order, most):
    """Return a few sets as torch stacks have them, with CUDA families that overlap and dependencies that drift."""
    families = [[wheel(f"cuda{n}", size * MB) for n, size in enumerate([410, 24, 1, 700, 121, 196, 150, 200])]]
    for version in range(2, order.randint(2, 4)):
        kept = order.sample(range(8), order.randint(0, 5))
        last = families[-1]
        families.append([w if n in kept else wheel(w.name, w.size, f"{version}.0") for n, w in enumerate(last)])
    torches = [
        (wheel("torch", order.randint(700, 900) * MB, f"{n}.0"), *order.choice(families)) for n in range(1, 5)
    ]
    small = [
        [
            wheel(f"small{n}", int(size * order.uniform(0.8, 1.2) * MB), f"{v}.0")
            for v in range(order.randint(1, 4))
        ]
        for n, size in enumerate([18, 6, 2, 1, 34, 12])
    ]
    tops = [wheel("top", size * MB, f"{n}.0") for n, size in enumerate([3, 10, 95, 7, 30])]
    sets = []
    for _ in range(order.randint(1, most)):
        day = order.random()
        drifted = (versions[int(day * len(versions))] for versions in small)
        sets.append(frozenset((*order.choice(torches), *drifted, order.choice(tops))))
    return sets


@pytest.mark.parametrize(("case", "usual", "worst"), [(any_case, 0.0002, 0.02), (torch_case, 0.00001, 0.001)])
def test_plans_are_as_cheap_as_can_be_or_nearly(case, usual, worst):
    order = random.Random(20)  # noqa: S311
    over = []
    for _ in range(400):
        sets = case(order, 6)
        over.append(cost(plan(sets)) / Optimum(sets).cost - 1)
    assert min(over) > -1e-12
    assert mean(over) <= usual
    assert max(over) <= worst


@pytest.mark.parametrize(("case", "usual", "worst"), [(any_case, 0.001, 0.05), (torch_case, 0.0001, 0.005)])
def test_so_they_are_on_what_is_held(case, usual, worst):
    order = random.Random(30)  # noqa: S311
    over = []
    for _ in range(150):
        sets = case(order, 8)
        before = plan(sets[: len(sets) // 2])
        there = prepared(before.steps.values())
        rest = sets[len(sets) // 3 :]
        ends = {
            frozenset(w for step in _chain(before, key) for w in step.distributions) for key in before.steps
        } - {frozenset()}
        ideal = warm_optimum(rest, ends)
        if frozenset() in rest and any(not step.wheels for step in there):
            ideal -= LAYER_COST
        over.append(cost(plan(rest, there), there) - ideal)
        over[-1] /= max(ideal, LAYER_COST)
    assert min(over) > -1e-12
    assert mean(over) <= usual
    assert max(over) <= worst


def _chain(planned, key):
    while key is not None:
        yield planned.steps[key]
        key = planned.steps[key].parent


CASES = st.builds(
    lambda order, case: case(order, 6), st.randoms(use_true_random=True), st.sampled_from([any_case, torch_case])
)


@settings(max_examples=60, deadline=None)
@given(CASES)
def test_no_plan_stores_less_than_the_bound(sets):
    least = least_bytes([(locked(*wheels), BASE) for wheels in sets])
    assert least <= Optimum(sets, layer=0).cost <= stored_bytes(plan(sets))


@settings(max_examples=60, deadline=None)
@given(CASES)
def test_no_plan_costs_less_than_the_optimum_or_more_than_no_sharing(sets):
    assert Optimum(sets).cost <= cost(plan(sets)) <= sum(LAYER_COST + weigh(wheels) for wheels in set(sets))
