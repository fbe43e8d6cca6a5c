from dataclasses import replace

import pytest

from many_locks import BASE, locked, many_locks, prepared, wheel
from orchestrator.execute.port import Base
from orchestrator.planning import plan_steps

MB = 10**6
OTHER = Base(python="3.12", digest="other", reference="other", origin="test")
CUDA, CUDA2 = wheel("cuda", 2000 * MB), wheel("cuda", 2100 * MB, "2.0")
TORCH1, TORCH2 = wheel("torch", 800 * MB), wheel("torch", 900 * MB, "2.0")
NUMPY, SMALL = wheel("numpy", 40 * MB), wheel("small", MB)
AO = [wheel("torchao", 3 * MB, f"0.{minor}") for minor in range(9)]


def plan(*locks, held=(), recipe="FROM x"):
    return plan_steps([(lock, BASE) for lock in locks], recipe, held)


def held(*locks, recipe="FROM x"):
    return prepared(plan(*locks, recipe=recipe).steps.values())


def new(planned, there):
    keys = {step.key for step in there}
    return [[str(d.name) for d in step.distributions] for step in planned.steps.values() if step.key not in keys]


def chain(planned, lock):
    return [[d.name for d in step.distributions] for step in planned.chain(lock.digest)]


def test_an_environment_that_exists_is_kept():
    one, two = locked(CUDA, TORCH1, NUMPY), locked(CUDA, TORCH2, NUMPY)
    there = held(one)
    planned = plan(one, two, held=there)
    assert chain(planned, one) == [["cuda", "numpy", "torch"]]
    assert chain(plan(one, two), one) == [["cuda", "numpy"], ["torch"]]


def test_one_more_companion_is_one_more_small_layer():
    locks = [locked(CUDA, torch, NUMPY, ao) for torch in (TORCH1, TORCH2) for ao in AO[:3]]
    there = held(*locks)
    planned = plan(*locks, locked(CUDA, TORCH1, NUMPY, AO[3]), held=there)
    assert new(planned, there) == [["torchao"]]


def test_so_it_is_where_a_cold_plan_would_draw_another_tree():
    few = [locked(CUDA, TORCH1, NUMPY, ao) for ao in AO[:2]]
    there = held(*few)
    more = [locked(CUDA, TORCH2, ao) for ao in AO[:2]]
    cold, warm = plan(*few, *more), plan(*few, *more, held=there)
    assert set(plan(*few).steps) - set(cold.steps)
    assert set(plan(*few).steps) <= set(warm.steps)
    once_more = plan(*few, *more, locked(CUDA, TORCH1, NUMPY, AO[2]), held=prepared(warm.steps.values()) + there)
    assert new(once_more, prepared(warm.steps.values())) == [["torchao"]]


def test_two_matrices_meet_in_the_same_layers():
    there = held(locked(CUDA, TORCH1, AO[0]), locked(CUDA, TORCH1, AO[1]))
    planned = plan(locked(CUDA, TORCH1, AO[2]), locked(CUDA, TORCH1, AO[3]), held=there)
    assert new(planned, there) == [["torchao"], ["torchao"]]
    assert len(planned.steps) == 3


@pytest.mark.parametrize(("count", "torches"), [(1, 1), (30, 3), (90, 12)])
def test_planned_again_on_its_own_steps_is_the_same(count, torches):
    locks = many_locks(count, torches=torches)
    cold = plan_steps(locks, "FROM x")
    assert plan_steps(locks, "FROM x", prepared(cold.steps.values())) == cold
    assert plan_steps([(locked(), BASE)], "", prepared(plan_steps([(locked(), BASE)], "").steps.values())).steps


def test_a_part_that_is_held_is_not_made_again():
    locks = many_locks(90, torches=12)
    there = prepared(plan_steps(locks[::3], "FROM x").steps.values())
    warm = plan_steps(locks, "FROM x", there)
    for lock, _ in locks[::3]:
        assert warm.environments[lock.digest] in {step.key for step in there}


def test_order_of_what_is_held_does_not_matter():
    locks = many_locks(60, torches=6)
    there = [
        *prepared(plan_steps(locks[:20], "FROM x").steps.values()),
        *prepared(plan_steps(locks[10:40:2], "FROM x").steps.values()),
    ]
    planned = plan_steps(locks, "FROM x", there)
    assert plan_steps(locks[::-1], "FROM x", there[::-1]) == planned
    assert plan_steps(locks, "FROM x", [*there, *there]) == planned


def test_what_cannot_be_used_is_ignored():
    one, two, three = locked(CUDA, TORCH1, NUMPY), locked(CUDA, TORCH2, NUMPY), locked(CUDA, TORCH2, AO[0])
    cold = plan(one, two)
    there = held(one, two)
    orphans = [step for step in there if step.parent is not None]
    for useless in (
        orphans,
        held(three, locked(CUDA2)),
        held(one, two, recipe="FROM y"),
        [replace(step, base="other") for step in there],
        [replace(step, platform="other") for step in there],
        [replace(step, wheels=step.wheels[:1]) for step in there if len(step.wheels) > 1],
        [replace(step, parent=step.key) for step in there],
    ):
        assert plan(one, two, held=useless) == cold


def test_a_small_held_step_does_not_break_up_a_large_sharing():
    there = held(locked(NUMPY))
    one, two = locked(CUDA, TORCH1, NUMPY), locked(CUDA, TORCH2)
    assert chain(plan(one, two, held=there), one) == [["cuda"], ["numpy", "torch"]]


def test_a_held_step_is_worth_its_wheels_for_every_user():
    there = held(locked(CUDA))
    ones = [locked(CUDA, TORCH1), locked(CUDA, TORCH2), locked(CUDA2, TORCH1), locked(CUDA2, TORCH2)]
    planned = plan(*ones, held=there)
    assert new(planned, there) == [["cuda"], ["torch"], ["torch"], ["torch"], ["torch"]]
    assert chain(planned, ones[0])[0] == ["cuda"]


def test_of_two_equal_chains_one_is_used():
    together, apart = held(locked(CUDA, TORCH1)), held(locked(CUDA), locked(CUDA, TORCH1))
    for there in (together + apart, apart + together):
        planned = plan(locked(CUDA, TORCH1, AO[0]), locked(CUDA, TORCH1, AO[1]), held=there)
        assert new(planned, there) == [["torchao"], ["torchao"]]
        assert len({planned.chain(lock)[0] for lock in planned.environments}) == 1
