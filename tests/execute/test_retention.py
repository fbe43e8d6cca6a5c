"""What may go, against an oracle that looks at everything again for every step it drops."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.execute.port import Held
from orchestrator.execute.retention import drop_order, last_used, standing_on

DAY = datetime(2026, 1, 1, tzinfo=UTC)
KEYS = "abcdefghi"


def held(key, parent=None, *, used=0, base="base"):
    return Held(
        key=key,
        parent=parent,
        base=base,
        platform="linux",
        wheels=(),
        size=1,
        used=DAY + timedelta(hours=used),
    )


def tree(*steps):
    return {step.key: step for step in steps}


CHAIN = tree(held("a", used=1), held("b", "a", used=2), held("c", "b", used=3))
FORK = tree(held("a", used=9), held("b", "a", used=1), held("c", "a", used=2), held("d", used=3))


@pytest.mark.parametrize(
    ("steps", "needed", "order"),
    [
        ({}, (), ""),
        (CHAIN, (), "cba"),
        (CHAIN, "a", "cb"),
        (CHAIN, "b", "c"),
        (CHAIN, "c", ""),
        (CHAIN, ("of another plan",), "cba"),
        (FORK, (), "bcda"),
        (FORK, "b", "cd"),
        (FORK, "d", "bca"),
    ],
)
def test_children_go_first_and_then_the_least_recently_used(steps, needed, order):
    assert drop_order(steps, needed) == tuple(order)


def test_what_is_stood_on_was_used_when_the_last_on_it_was():
    steps = tree(held("a", used=1), held("b", "a", used=7), held("c", "a", used=4), held("d", used=5))
    assert last_used(steps)["a"] == steps["b"].used
    assert drop_order(steps, ()) == ("c", "d", "b", "a")


def test_a_base_is_below_everything_that_was_made_on_it():
    steps = tree(held("base", used=0), held("a", used=2), held("b", "a", used=1))
    assert standing_on(steps, "b") == ("b", "a", "base")
    assert drop_order(steps, ()) == ("b", "a", "base")
    assert drop_order(steps, ("a",)) == ("b",)
    assert drop_order(steps, ("base",)) == ("b", "a")


def test_a_parent_that_is_gone_is_no_trouble():
    steps = tree(held("b", "a", used=2), held("c", "b", used=1))
    assert drop_order(steps, ()) == ("c", "b")
    assert drop_order(steps, ("a",)) == ("c", "b")
    assert standing_on(steps, "c") == ("c", "b", "a")


@st.composite
def forests(draw):
    """Steps whose parents are held, gone or none, on bases that are held or not."""
    names = draw(st.permutations(KEYS[: draw(st.integers(0, len(KEYS)))]))
    steps = [held("base", used=draw(st.integers(0, 4)))] if draw(st.booleans()) else []
    for place, key in enumerate(names):
        parent = draw(st.sampled_from([None, "gone", *names[:place]]))
        base = draw(st.sampled_from(["base", "other"]))
        steps.append(held(key, parent, used=draw(st.integers(0, 4)), base=base))
    return tree(*draw(st.permutations(steps)))


def below(steps, key):
    step = steps[key]
    return step.parent if step.parent is not None else (step.base if step.base != key else None)


def above(steps, key):
    """A step with everything that stands on it."""
    found = {key}
    while more := {other for other in steps if below(steps, other) in found} - found:
        found |= more
    return found


@given(forests(), st.sets(st.sampled_from([*KEYS, "base", "gone"])))
def test_against_an_oracle(steps, needed):
    use = {key: max(steps[other].used for other in above(steps, key)) for key in steps}
    kept = {key for key in steps if above(steps, key) & needed}
    left = dict(steps)
    expected = []
    while free := [key for key in left if key not in kept and above(left, key) == {key}]:
        expected.append(min(free, key=lambda key: (use[key], key)))
        del left[expected[-1]]
    order = drop_order(steps, needed)
    assert order == tuple(expected)
    assert set(order) == set(steps) - kept
    assert {key: moment for key, moment in last_used(steps).items() if key in steps} == use
