from __future__ import annotations

import numpy as np
import pytest

from orchestrator.model import Verdict
from orchestrator.pinpoint.prior import STEADY, Prior
from orchestrator.search.rows import Row

B, G, U = Verdict.BAD, Verdict.GOOD, Verdict.UNKNOWN
CELLS = ("a", "b", "c", "d")


def row(*issues):
    return Row.empty(issues or ("i",), CELLS, Prior(noise=STEADY))


def test_an_empty_row_knows_nothing():
    empty = row("i", "j")
    assert empty.bad.shape == (2, 4)
    assert empty.steps.sum() == pytest.approx(1)
    assert not empty.answered(0.95).any()
    assert empty.posterior.bad == pytest.approx(0.5)


def test_runs_add_up_by_issue_and_leave_the_old_row_alone():
    empty = row("i", "j")
    once = empty.observed("b", {"i": B})
    twice = once.observed("b", {"i": G, "j": G})
    assert twice.bad[:, 1].tolist() == [1, 0]
    assert twice.good[:, 1].tolist() == [1, 1]
    assert not empty.bad.any()
    assert not once.good.any()


def test_a_cell_of_another_row_changes_nothing():
    assert (empty := row()).observed("elsewhere", {"i": B}) is empty


def test_an_unknown_verdict_closes_the_cell_for_its_issue_only():
    found = row("i", "j").observed("b", {"i": U, "j": G})
    assert found.testable[:, 1].tolist() == [False, True]
    assert found.posterior.information[0, 1] == 0


def test_an_unknown_verdict_closes_no_cell_that_told_something_before():
    found = row().observed("b", {"i": B}).observed("b", {"i": U})
    assert found.testable.all()


def test_all_cells_run_is_an_answer():
    found = row()
    for cell, verdict in zip(CELLS, (G, G, B, B), strict=True):
        found = found.observed(cell, {"i": verdict})
    assert found.answered(0.99).all()
    assert found.posterior.path[0].tolist() == [False, False, True, True]


def test_what_is_told_counts_as_known_and_can_be_taken_back():
    told = row("i", "j").told("a", G).told("d", B)
    assert told.posterior.bad[:, 0] == pytest.approx(0)
    assert told.posterior.bad[:, 3] == pytest.approx(1)
    assert not (told.bad + told.good).any()
    assert told.told("d", U).posterior.bad[0, 3] < 0.9


def test_both_sides_of_a_change_have_to_show_again():
    found = row()
    for cell, verdict in zip(CELLS, (G, G, B, B), strict=True):
        found = found.observed(cell, {"i": verdict})
    assert np.flatnonzero(found.unconfirmed(1)[0]).tolist() == [1, 2]
    assert not found.unconfirmed(0).any()
    assert np.flatnonzero(found.observed("c", {"i": B}).unconfirmed(1)[0]).tolist() == [1]


def test_a_bug_that_hides_at_times_can_be_confirmed():
    found = Row.empty(("i",), CELLS, Prior())
    for _ in range(3):
        for cell, verdict in zip(CELLS, (G, G, B, B), strict=True):
            found = found.observed(cell, {"i": verdict})
    for _ in range(3):
        found = found.observed("c", {"i": G})
    assert found.posterior.path[0].tolist() == [False, False, True, True]
    assert not found.unconfirmed(2).any()


def test_sides_are_neighbours_among_what_can_be_tested():
    found = row().observed("b", {"i": U})
    for cell, verdict in (("a", G), ("c", B), ("d", B)):
        found = found.observed(cell, {"i": verdict})
    assert np.flatnonzero(found.unconfirmed(1)[0]).tolist() == [0, 2]
