"""What a plan comes to, by hand and against a clock that ticks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from many_locks import BASE, locked, prepared, wheel
from orchestrator.execute.port import Base, Plan, Step
from orchestrator.planning import plan_steps
from orchestrator.planning.groups import UNKNOWN_SIZE
from orchestrator.planning.outlook import UNPACKED_PER_DOWNLOADED, makespan, outlook

MB = 10**6
CUDA, TORCH1, TORCH2 = wheel("cuda", 2000 * MB), wheel("torch", 800 * MB), wheel("torch", 900 * MB, "2.0")
ONE, TWO = locked(CUDA, TORCH1), locked(CUDA, TORCH2)
OTHER = Base(python="3.12", digest="other", reference="other", origin="test")
CELLS = {"one-again": ONE, "two": TWO, "one": ONE}


def look(plan, cells=CELLS, held=(), *, seconds=lambda _step: 1.0, width=1):
    return outlook(plan, cells, {step.key: step for step in held}, seconds=seconds, width=width)


@pytest.fixture
def plan():
    return plan_steps([(ONE, BASE), (TWO, BASE)], "FROM x")


def test_bytes_of_a_plan_of_which_nothing_is_there(plan):
    seen = look(plan)
    assert seen.wheels == seen.least == seen.download == (2000 + 800 + 900) * MB
    assert seen.stored == pytest.approx(seen.wheels * UNPACKED_PER_DOWNLOADED)
    assert seen.apart == pytest.approx((2800 + 2800 + 2900) * MB * UNPACKED_PER_DOWNLOADED)
    assert seen.seconds == 3.0
    assert seen.missing == seen.steps


def test_steps_come_parents_first_with_the_cells_that_end_in_them(plan):
    seen = look(plan)
    root, *leaves = seen.steps
    assert (root.step, root.depth, root.cells) == (plan.chain(ONE.digest)[0], 0, ())
    assert {one.cells: one.depth for one in leaves} == {("one", "one-again"): 1, ("two",): 1}
    assert not any(one.ready for one in seen.steps)


def test_what_is_there_is_measured_and_tells_what_a_wheel_becomes(plan):
    root = plan.chain(ONE.digest)[0]
    seen = look(plan, held=prepared([root]))  # twice its wheels
    assert [one.ready for one in seen.steps] == [True, False, False]
    assert [one.step.parent for one in seen.missing] == [root.key, root.key]
    assert seen.stored == 2 * (2000 + 800 + 900) * MB
    assert seen.apart == 2 * (2800 + 2800 + 2900) * MB
    assert seen.download == (800 + 900) * MB
    assert seen.wheels == (2000 + 800 + 900) * MB
    assert seen.seconds == 2.0


def test_everything_is_there(plan):
    seen = look(plan, held=prepared(plan.steps.values()))
    assert (seen.missing, seen.download, seen.seconds) == ((), 0, 0.0)
    assert seen.stored == 2 * seen.wheels


def test_only_what_the_cells_need_is_looked_at(plan):
    seen = look(plan, {"two": TWO})
    assert [one.step for one in seen.steps] == list(plan.chain(TWO.digest))
    assert seen.wheels == seen.least == (2000 + 900) * MB
    assert seen.stored == seen.apart


def test_a_wheel_in_two_branches_is_stored_twice_and_downloaded_once():
    shared = wheel("shared", 5 * MB)
    locks = {"a": locked(shared, CUDA), "b": locked(shared, TORCH1, python="3.12")}
    plan = plan_steps([(locks["a"], BASE), (locks["b"], OTHER)], "FROM x")
    seen = look(plan, locks)
    assert seen.wheels == seen.least == (5 + 2000 + 5 + 800) * MB
    assert seen.download == (5 + 2000 + 800) * MB
    assert {one.depth for one in seen.steps} == {0}


def test_a_wheel_of_unknown_size_counts_and_breaks_nothing():
    lock = locked(wheel("dark", None))
    seen = look(plan_steps([(lock, BASE)], "FROM x"), {"cell": lock})
    assert seen.wheels == seen.least == UNKNOWN_SIZE
    assert (seen.stored, seen.download) == (0, 0)


def test_a_cell_may_end_where_others_go_on():
    inner = locked(CUDA)
    plan = plan_steps([(inner, BASE), (ONE, BASE)], "FROM x")
    seen = look(plan, {"inner": inner, "one": ONE})
    assert [(one.depth, one.cells) for one in seen.steps] == [(0, ("inner",)), (1, ("one",))]


@st.composite
def forests(draw):
    """Steps with parents, parents first, and how many seconds each takes."""
    count = draw(st.integers(1, 9))
    names = draw(st.permutations("abcdefghi"[:count]))
    steps = {}
    for place, name in enumerate(names):
        parent = draw(st.sampled_from([None, *names[:place]]))
        steps[name] = Step(key=name, parent=parent, base=BASE, platform="linux", distributions=())
    return steps, {name: draw(st.integers(1, 5)) for name in names}


def ticking(steps, took, width):
    """Let a clock tick: each second ends what is due, then what can begin does, first come first served."""
    waiting = [step for step in steps.values() if step.parent not in steps]
    running = {}
    now = 0
    while waiting or running:
        for key in sorted(key for key, due in running.items() if due == now):
            del running[key]
            waiting += [step for step in steps.values() if step.parent == key]
        while waiting and len(running) < width:
            step = waiting.pop(0)
            running[step.key] = now + took[step.key]
        now += bool(running)
    return now


@given(forests(), st.integers(1, 4))
def test_makespan_against_a_clock(forest, width):
    steps, took = forest

    def along(key):
        return 0 if key is None else took[key] + along(steps[key].parent)

    def seconds(step):
        return took[step.key]

    assert makespan(steps, seconds, width) == ticking(steps, took, width)
    assert makespan(steps, seconds, 1) == sum(took.values())
    assert makespan(steps, seconds, len(steps)) == max(map(along, steps))


def test_nothing_takes_no_time():
    assert makespan({}, lambda _step: 1.0, 2) == 0.0


@given(forests())
def test_depth_first(forest):
    """Whatever stands on a step follows it before anything else does."""
    steps, _ = forest
    locks = {name: locked(wheel(f"w{place}", 1)) for place, name in enumerate(steps)}
    plan = Plan(steps=steps, environments={lock.digest: name for name, lock in locks.items()})
    seen = look(plan, locks).steps
    assert {one.step.key for one in seen} == set(steps)
    above = []
    for one in seen:
        del above[one.depth :]
        assert one.step.parent == (above[-1] if above else None)
        above.append(one.step.key)
