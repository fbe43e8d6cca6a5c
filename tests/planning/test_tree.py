import os
import random
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from many_locks import BASE, locked, many_locks, prepared, wheel
from orchestrator.execute.port import Base
from orchestrator.planning import plan_steps, stored_bytes
from orchestrator.planning.forest import LAYER_COST
from orchestrator.planning.search import DEEPEST

ROOT = Path(__file__).parents[2]
MB = 10**6
OTHER = Base(python="3.12", digest="other", reference="other", origin="test")


def plan(*locks, recipe="FROM x"):
    return plan_steps([(lock, BASE) for lock in locks], recipe)


def chain(plan, lock):
    return [[d.name for d in step.distributions] for step in plan.chain(lock.digest)]


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
    assert stored_bytes(planned) == (2000 + 20 + 800 + 900) * MB


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
    planned = plan_steps([(one, BASE), (two, BASE), (three, OTHER)], "FROM x")
    assert len(planned.steps) == 3


def test_key_depends_on_all_that_makes_the_image():
    keys = {
        plan(locked(CUDA, TORCH1)).environments.popitem()[1],
        plan(locked(CUDA, TORCH2)).environments.popitem()[1],
        plan(locked(CUDA, TORCH1), recipe="FROM y").environments.popitem()[1],
        plan(locked(CUDA, TORCH1, platform="other")).environments.popitem()[1],
        plan_steps([(locked(CUDA, TORCH1), OTHER)], "FROM x").environments.popitem()[1],
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


def test_a_wheel_is_fetched_once():
    planned = plan(locked(CUDA, TORCH1, SMALL), locked(CUDA, TORCH2, SMALL), locked(NUMPY, TORCH2))
    fetched = {wheel for step in planned.steps.values() for wheel in step.distributions}
    assert sum(step.download for step in planned.steps.values()) == sum(wheel.size for wheel in fetched)


def test_what_nests_deeply_is_cut_into_chains_that_an_engine_can_stack():
    wheels = [wheel(f"n{n}", 40 * MB) for n in range(80)]
    locks = [locked(*wheels[:count]) for count in range(1, 81)]
    planned = plan(*locks)
    assert max(len(planned.chain(lock)) for lock in planned.environments) == DEEPEST
    assert stored_bytes(planned) == (80 + 33 - 1 + 65 - 1) * 40 * MB
    again = plan_steps([(lock, BASE) for lock in locks], "FROM x", prepared(planned.steps.values()))
    assert again == planned


def test_parents_come_first():
    seen = set()
    for step in plan_steps(many_locks(60, torches=6), "FROM x").steps.values():
        assert step.parent is None or step.parent in seen
        seen.add(step.key)


@given(LOCKS)
def test_sharing_never_costs_and_pays_off_where_it_is_done(locks):
    planned = plan(*locks)
    assert stored_bytes(planned) <= sum(d.size for lock in set(locks) for d in lock.distributions)
    environments = set(planned.environments.values())
    for key in {step.parent for step in planned.steps.values() if step.parent} - environments:
        users = sum(step.parent == key for step in planned.steps.values())
        assert (users - 1) * sum(d.size for d in planned.steps[key].distributions) > LAYER_COST


@given(LOCKS)
def test_what_all_locks_have_is_stored_once(locks):
    common = frozenset.intersection(*(frozenset(lock.distributions) for lock in locks))
    if (len({lock.digest for lock in locks}) - 1) * sum(d.size for d in common) > LAYER_COST:
        planned = plan(*locks)
        for shared in common:
            assert sum(shared in step.distributions for step in planned.steps.values()) == 1


DIGEST = """
from many_locks import many_locks
from orchestrator.model import digest
from orchestrator.planning import plan_steps
plan = plan_steps(many_locks(80, torches=9), "FROM x")
print(digest([[list(plan.steps), [step.download for step in plan.steps.values()]], dict(plan.environments)]))
"""


def test_hash_seed_changes_nothing():
    paths = os.pathsep.join(map(str, [ROOT, ROOT / "tests" / "support"]))
    said = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(said) == 1
