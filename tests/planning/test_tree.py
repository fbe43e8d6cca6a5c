import random

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.execute.port import Base
from orchestrator.model import Distribution, Lock
from orchestrator.planning.tree import WORTH_SHARING, plan_layers
from orchestrator.versions import Version

MB = 10**6
BASE = Base(python="3.11", digest="base", reference="base", origin="test")
OTHER = Base(python="3.12", digest="other", reference="other", origin="test")


def wheel(name, size, version="1.0", url="https://index.example"):
    return Distribution(
        name=name,
        version=Version(version),
        url=f"{url}/{name}-{version}.whl",
        sha256=f"{name}-{version}",
        size=size,
        index="default",
    )


def locked(*wheels, python="3.11", platform="linux"):
    ordered = tuple(sorted(wheels, key=lambda w: w.name))
    return Lock(python=python, platform=platform, as_of=None, distributions=ordered)


def plan(*locks, dockerfile="FROM x"):
    return plan_layers([(lock, BASE) for lock in locks], dockerfile)


def chain(plan, lock):
    return [[d.name for d in step.distributions] for step in plan.chain(lock.digest)]


def stored(plan):
    return sum(d.size for step in plan.steps.values() for d in step.distributions)


CUDA, TORCH1, TORCH2 = wheel("cuda", 2000 * MB), wheel("torch", 800 * MB), wheel("torch", 900 * MB, "2.0")
NUMPY, SMALL = wheel("numpy", 20 * MB), wheel("small", MB)


def test_one_lock_is_one_layer():
    lock = locked(CUDA, TORCH1, NUMPY)
    assert chain(plan(lock), lock) == [["cuda", "numpy", "torch"]]


def test_what_all_have_lies_below_what_differs():
    one, two = locked(CUDA, TORCH1, NUMPY), locked(CUDA, TORCH2, NUMPY)
    planned = plan(one, two)
    assert chain(planned, one) == chain(planned, two) == [["cuda", "numpy"], ["torch"]]
    assert planned.chain(one.digest)[0] is planned.chain(two.digest)[0]
    assert stored(planned) == (2000 + 20 + 800 + 900) * MB


def test_a_lock_within_another_ends_in_the_middle():
    inner, outer = locked(CUDA), locked(CUDA, TORCH1)
    planned = plan(inner, outer)
    assert chain(planned, inner) == [["cuda"]]
    assert chain(planned, outer) == [["cuda"], ["torch"]]


def test_little_is_not_worth_a_layer():
    one, two = locked(SMALL, TORCH1), locked(SMALL, TORCH2)
    planned = plan(one, two)
    assert chain(planned, one) == chain(planned, two) == [["small", "torch"]]


def test_the_largest_saving_decides_where_groups_cross():
    ones = [locked(CUDA, TORCH1), locked(CUDA, NUMPY), locked(TORCH1, NUMPY, SMALL)]
    planned = plan(*ones)
    assert chain(planned, ones[0]) == [["cuda"], ["torch"]]
    assert chain(planned, ones[1]) == [["cuda"], ["numpy"]]
    assert chain(planned, ones[2]) == [["numpy", "small", "torch"]]


def test_equal_locks_share_everything():
    assert len(plan(locked(CUDA, TORCH1), locked(TORCH1, CUDA)).steps) == 1


def test_same_wheel_from_two_indexes_is_one():
    mirrored = wheel("cuda", None, url="https://mirror.example")
    one, two = locked(CUDA, TORCH1), locked(mirrored, TORCH2)
    planned = plan(one, two)
    assert planned.chain(one.digest)[0] is planned.chain(two.digest)[0]
    assert planned.chain(one.digest)[0].distributions == (CUDA,)


def test_bases_and_platforms_share_nothing():
    one, two = locked(CUDA), locked(CUDA, platform="other")
    three = locked(CUDA, python="3.12")
    planned = plan_layers([(one, BASE), (two, BASE), (three, OTHER)], "FROM x")
    assert len(planned.steps) == 3


def test_key_depends_on_all_that_makes_the_image():
    keys = {
        plan(locked(CUDA, TORCH1)).environments.popitem()[1],
        plan(locked(CUDA, TORCH2)).environments.popitem()[1],
        plan(locked(CUDA, TORCH1), dockerfile="FROM y").environments.popitem()[1],
        plan(locked(CUDA, TORCH1, platform="other")).environments.popitem()[1],
        plan_layers([(locked(CUDA, TORCH1), OTHER)], "FROM x").environments.popitem()[1],
    }
    assert len(keys) == 5


def test_lock_without_distributions_has_an_environment():
    empty, full = locked(), locked(CUDA)
    planned = plan(empty, full)
    assert chain(planned, empty) == [[]]
    assert chain(planned, full) == [["cuda"]]


WHEELS = [wheel(f"d{i}", size * MB) for i, size in enumerate([1, 5, 10, 40, 100, 700, 1500])]
LOCKS = st.lists(st.sets(st.sampled_from(WHEELS)).map(lambda ws: locked(*ws)), min_size=1, max_size=9)


@given(LOCKS, st.randoms())
def test_every_chain_installs_exactly_its_lock(locks, order: random.Random):
    planned = plan(*locks)
    for lock in locks:
        installed = [d for step in planned.chain(lock.digest) for d in step.distributions]
        assert sorted(installed, key=lambda d: d.name) == list(lock.distributions)
    assert set(planned.environments) == {lock.digest for lock in locks}
    used = {step.key for lock in locks for step in planned.chain(lock.digest)}
    assert used == set(planned.steps)
    again = list(locks)
    order.shuffle(again)
    assert plan(*again) == planned


@given(LOCKS)
def test_sharing_never_costs_and_pays_off_where_it_is_done(locks):
    planned = plan(*locks)
    each = {lock.digest: sum(d.size for d in lock.distributions) for lock in locks}
    assert stored(planned) <= sum(each.values())
    below = [step.parent for step in planned.steps.values() if step.parent]
    for parent in set(below):
        users = sum(planned.steps[parent] in planned.chain(lock) for lock in planned.environments)
        assert (users - 1) * sum(d.size for d in planned.steps[parent].distributions) >= WORTH_SHARING


@given(LOCKS)
def test_what_all_locks_have_is_stored_once(locks):
    common = frozenset.intersection(*(frozenset(lock.distributions) for lock in locks))
    if (len({lock.digest for lock in locks}) - 1) * sum(d.size for d in common) >= WORTH_SHARING:
        planned = plan(*locks)
        for shared in common:
            assert sum(shared in step.distributions for step in planned.steps.values()) == 1
