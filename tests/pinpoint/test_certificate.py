"""What a gap may hide: against the closed formula, and against the sum over all paths through it."""

from __future__ import annotations

from itertools import pairwise, product
from math import exp, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pinpoint.certificate import hidden

RATES = st.floats(0.0, 3.0)
STEPS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7)


def closed(count: int, leaves: float, returns: float) -> float:
    """Return the formula for so many equal steps, with the chances to leave a state and to come back to it."""
    stayed = (1 - leaves) ** count * (leaves + returns)
    return 1 - stayed / (returns + leaves * (1 - leaves - returns) ** count)


def summed(steps: list[float], introduced: float, fixed: float, *, bad: bool) -> float:
    """Return the share of the paths that change, among all that end in the state in which they began."""

    def chance(step: float, was: bool, now: bool) -> float:  # noqa: FBT001 - states
        change = 1 - exp(-step * (fixed if was else introduced))
        return change if was is not now else 1 - change

    weights = {}
    for between in product((False, True), repeat=len(steps) - 1):
        path = (bad, *between, bad)
        weights[path] = prod(chance(step, *turn) for step, turn in zip(steps, pairwise(path), strict=True))
    still = weights[(bad,) * (len(steps) + 1)]
    return 1 - still / sum(weights.values())


@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize(("introduced", "fixed"), [(1.0, 1.0), (0.3, 2.0), (2.0, 0.3), (1.0, 0.01)])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 50])
def test_equal_steps_follow_the_closed_formula(count: int, introduced: float, fixed: float, *, bad: bool) -> None:
    share = 1 / 64
    worse, better = 1 - exp(-share * introduced), 1 - exp(-share * fixed)
    expected = closed(count, better, worse) if bad else closed(count, worse, better)
    assert hidden(np.full(count, share), introduced, fixed, bad=bad) == pytest.approx(expected, abs=1e-12)


@given(STEPS, RATES, RATES, st.booleans())
def test_unequal_steps_agree_with_the_sum_over_all_paths(
    steps: list[float],
    introduced: float,
    fixed: float,
    bad: bool,  # noqa: FBT001 - given by hypothesis
) -> None:
    found = hidden(np.array(steps), introduced, fixed, bad=bad)
    assert found == pytest.approx(summed(steps, introduced, fixed, bad=bad), abs=1e-9)
    assert 0.0 <= found <= 1.0


@given(STEPS, RATES, RATES)
def test_a_bad_gap_is_an_ok_one_with_the_kinds_of_change_turned_round(
    steps: list[float], introduced: float, fixed: float
) -> None:
    bad = hidden(np.array(steps), introduced, fixed, bad=True)
    assert bad == hidden(np.array(steps), fixed, introduced, bad=False)


def test_nothing_hides_where_there_is_no_room_or_nothing_ever_changes() -> None:
    assert hidden(np.zeros(0), 1.0, 1.0, bad=False) == 0.0
    assert hidden(np.zeros(4), 1.0, 1.0, bad=False) == 0.0
    assert hidden(np.array([0.3]), 1.0, 1.0, bad=False) == 0.0
    assert hidden(np.array([0.3, 0.2]), 0.0, 0.0, bad=True) == 0.0
    # What never comes back did not go either: the gap ends as it began.
    assert hidden(np.array([0.3, 0.2]), 1.0, 0.0, bad=False) == 0.0


def test_a_wider_gap_hides_more() -> None:
    found = [hidden(np.full(count, 0.02), 1.0, 1.0, bad=False) for count in range(1, 40)]
    assert found == sorted(found)
    assert found[0] < found[1] < found[-1]
