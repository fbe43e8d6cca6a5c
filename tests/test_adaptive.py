"""Searches over fakes of the world: what is chosen, when they end, and what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator import adaptive
from orchestrator.adaptive import Budget, Search, row_of, seek
from orchestrator.knowledge import survey
from orchestrator.matrix import Selection
from orchestrator.measure import Options, plan_for
from orchestrator.model import Outcome, Verdict
from orchestrator.pinpoint import lines, series
from orchestrator.pinpoint.prior import STEADY, Noise, Prior, shares
from orchestrator.pipeline import run
from orchestrator.search.choose import Goal
from workbench import bench, made, never, ran, since

VERSIONS = tuple(f"1.{minor}" for minor in range(32))
SURE = Prior(noise=STEADY)
SHAKY = Prior(noise=(Noise(false_fail=0.05, false_pass=0.05), Noise(false_fail=0.25, false_pass=0.25)))
GOAL = Goal(confidence=0.95)


def sought(one, field, search=None, width=1):
    return seek(one.shop, Options(width=width), search or Search(prior=SURE, goal=GOAL), field, one.cells)


def states(one, field):
    """Return the transitions of every issue."""
    return {
        found.issue: [(str(t.kind), str(t.after), str(t.version)) for t in found.transitions]
        for found in series(one.shop.matrix, field.measured(one.shop.matrix))
    }


def rows(one, field, search):
    return [row_of(line, search) for line in lines(one.shop.matrix, field.measured(one.shop.matrix))]


def test_all_changes_are_found_in_fewer_runs_than_there_are_cells(tmp_path):
    one, field = made(tmp_path, {"a": since(20), "b": lambda v, _n: 5 <= v.minor < 25, "c": never}, VERSIONS)
    found = sought(one, field, Search(goal=GOAL, prior=Prior(noise=STEADY, expected=(1.0,))))
    assert states(one, field)["a"] == [("introduced", "1.19", "1.20")]
    assert states(one, field)["b"] == [("introduced", "1.4", "1.5"), ("fixed", "1.24", "1.25")]
    assert (found.open, found.stopped) == ((), None)
    assert found.runs == len(one.runtime.runs) < len(VERSIONS)
    assert found.cells == len(set(one.runtime.runs))
    assert (found.of, found.confidence, found.single) == (len(VERSIONS), 0.95, False)


def test_it_tells_how_it_gets_on(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    sought(one, field)
    told = [phase.split("; ") for phase in one.listener.phases[1:]]
    assert all(parts[-1].startswith("next lib 1.") and parts[-2].endswith(" left") for parts in told[:-1])
    assert [parts[0].partition(" from ")[0] for parts in told if parts[0].startswith("a: narrowed")]
    assert [parts[0] for parts in told if parts[0].startswith("a: introduced between lib ")]


def test_it_goes_on_from_what_the_store_knows(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    first = sought(one, field)
    again, known = made(tmp_path, {"a": since(20)}, VERSIONS)
    assert sought(again, known).runs == 0
    assert again.runtime.runs == []
    assert first.runs > 0
    assert states(again, known) == states(one, field)


def test_one_change_at_most_needs_about_as_many_runs_as_bisection(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    ends = {one.cell("1.0"): Verdict.GOOD, one.cell("1.31"): Verdict.BAD}
    found = sought(one, field, Search(prior=replace(SURE, single=True), goal=GOAL, given=ends))
    assert found.single
    assert 4 <= found.runs <= 6
    assert not set(ends) & set(one.runtime.runs)
    assert states(one, field)["a"] == [("introduced", "1.19", "1.20")]


def test_several_at_once_are_different_cells(tmp_path):
    one, field = made(tmp_path, {"a": since(20), "b": since(9)}, VERSIONS)
    found = sought(one, field, width=4)
    assert found.open == ()
    assert len(set(one.runtime.runs[:4])) > 1
    assert states(one, field) == {"a": [("introduced", "1.19", "1.20")], "b": [("introduced", "1.8", "1.9")]}


@pytest.mark.parametrize("runs", [1, 3])
def test_a_budget_of_runs_is_kept_to_the_run(tmp_path, runs):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    found = sought(one, field, Search(prior=SURE, budget=Budget(runs=runs)), width=4)
    assert len(one.runtime.runs) == found.runs == runs
    assert (found.open, found.stopped) == (("a in s",), f"its budget of {runs} cells is used")


def test_a_budget_of_time_ends_a_search_before_its_next_round(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    found = sought(one, field, Search(prior=SURE, budget=Budget(seconds=1e-9)))
    assert (found.runs, one.runtime.runs) == (0, [])
    assert found.stopped == "its budget of 0 s is used"
    assert sought(one, field, Search(prior=SURE, budget=Budget(seconds=3600))).open == ()


def test_a_budget_that_was_enough_is_no_reason(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    needed = sought(one, field).runs
    other, fresh = made(tmp_path / "other", {"a": since(20)}, VERSIONS)
    found = sought(other, fresh, Search(prior=SURE, goal=GOAL, budget=Budget(runs=needed)))
    assert (found.runs, found.open, found.stopped) == (needed, (), None)


def test_an_interruption_ends_it_after_what_runs(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    one.runtime.ran = lambda _cell: one.shop.cancel.set() if len(one.runtime.runs) == 2 else None
    found = sought(one, field)
    assert (len(one.runtime.runs), found.stopped, found.open) == (2, "it was interrupted", ("a in s",))
    assert found.cells == 2


def test_cells_that_cannot_be_resolved_are_gone_round(tmp_path):
    refused = {f"1.{minor}": "no such wheel" for minor in (0, 15, 16, 17, 31)}
    one, field = made(tmp_path, {"a": since(16)}, VERSIONS, refused=refused)
    found = sought(one, field)
    assert found.open == ()
    assert found.of == len(VERSIONS) - 5
    assert not {one.cell(version) for version in refused} & set(one.runtime.runs)
    (only,) = series(one.shop.matrix, field.measured(one.shop.matrix))
    (change,) = only.transitions
    assert (str(change.after), str(change.version)) == ("1.14", "1.18")
    assert [str(version) for version in change.untested] == ["1.15", "1.16", "1.17"]


def test_cells_that_cannot_be_built_are_gone_round_and_not_tried_for_ever(tmp_path):
    one, field = made(tmp_path, {"a": since(16)}, VERSIONS)
    one.runtime.broken = {f"1.{minor}": "no compiler" for minor in range(12, 20)}
    found = sought(one, field)
    assert found.open == ()
    (only,) = series(one.shop.matrix, field.measured(one.shop.matrix))
    assert [(str(t.after), str(t.version)) for t in only.transitions] == [("1.11", "1.20")]
    assert {point.outcome for point in only.points if point.version.minor in range(12, 20)} <= {
        Outcome.BUILD_FAILED,
        Outcome.NOT_RUN,
    }


def test_nothing_that_can_be_run_is_an_open_answer_without_a_reason(tmp_path):
    one, field = made(tmp_path, {"a": never}, versions=("1.0", "1.1"), refused={"1.0": "no", "1.1": "no"})
    found = sought(one, field)
    assert (found.runs, found.of, found.stopped) == (0, 0, None)


def test_a_flaky_probe_is_asked_again_until_it_is_told(tmp_path):
    def flaky(version, number):
        return version.minor >= 6 if number % 4 != 1 else version.minor < 6

    one, field = made(tmp_path, {"a": flaky}, versions=VERSIONS[:12])
    found = sought(one, field, Search(prior=SHAKY, goal=GOAL))
    assert found.open == ()
    assert found.runs > 12
    assert states(one, field)["a"] == [("introduced", "1.5", "1.6")]


def test_both_sides_of_a_change_are_confirmed(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    sought(one, field, Search(prior=SURE, goal=replace(GOAL, confirm=2)))
    assert one.runtime.runs.count(one.cell("1.19")) >= 3
    assert one.runtime.runs.count(one.cell("1.20")) >= 3


def test_a_probe_that_says_anything_is_given_up(tmp_path):
    one, field = made(tmp_path, {"a": lambda version, number: (version.minor + number) % 2 == 0}, VERSIONS[:3])
    found = sought(one, field, Search(prior=SHAKY, goal=Goal(confidence=0.999)))
    assert found.stopped == "30 runs did not tell: the probes are too noisy"
    assert (found.runs, found.open) == (30, ("a in s",))


def test_cells_left_for_later_are_locked_when_they_are_chosen(tmp_path):
    one = bench(tmp_path, VERSIONS, {"a": since(20)})
    field = survey(one.shop, Selection(), one.cells[::8], later=[c for c in one.cells if c not in one.cells[::8]])
    found = sought(one, field)
    assert found.open == ()
    assert found.of == len(VERSIONS)
    assert states(one, field)["a"] == [("introduced", "1.19", "1.20")]
    assert set(one.runtime.runs) <= set(field.known)
    assert field.later
    assert {cell.id for cell in field.later} == {cell.id for cell in one.cells} - set(field.locked)


def test_a_cell_left_for_later_that_cannot_be_had_is_gone_round(tmp_path):
    refused = {f"1.{minor}": "it does not build" for minor in (19, 20, 21)}
    one = bench(tmp_path, VERSIONS, {"a": since(20)}, refused=refused)
    field = survey(one.shop, Selection(), one.cells[::31], later=one.cells[1:31])
    assert sought(one, field).open == ()
    assert states(one, field)["a"] == [("introduced", "1.18", "1.22")]


def test_a_row_holds_the_runs_of_its_line_and_what_the_user_gives(tmp_path):
    one, field = made(tmp_path, {"a": since(2), "b": never}, VERSIONS[:4], refused={"1.3": "no"})
    ran(one, field, "1.0", "1.2")
    ran(one, field, "1.2")
    (line,) = lines(one.shop.matrix, field.measured(one.shop.matrix))
    given = {one.cell("1.1"): Verdict.GOOD, one.cell("1.3"): Verdict.BAD, "elsewhere": Verdict.BAD}
    row = row_of(line, Search(prior=SURE, given=given))
    assert row.issues == ("a", "b")
    assert row.cells == tuple(cell.id for cell in one.cells)
    assert row.bad.tolist() == [[0, 0, 2, 0], [0, 0, 0, 0]]
    assert row.good.tolist() == [[1, 0, 0, 0], [1, 0, 2, 0]]
    assert row.testable.tolist() == [[True, True, True, False]] * 2
    assert row.given.tolist() == [[0, -1, 0, 1]] * 2
    assert row.prior is SURE
    assert np.array_equal(row.steps, shares(line.versions))


def test_warm_cells_are_told_as_such_and_preferred(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    plan = plan_for(one.shop, field.known, one.cells)
    cheap = plan.chain(field.known[one.cell("1.17")].lock.digest)[0]
    one.runtime.prepare(cheap, None, None, None)
    for number in range(5):
        one.shop.pace.note(1000 + number, 1000.0)
    sought(one, field, Search(prior=replace(SURE, single=True), goal=GOAL, given={
        one.cell("1.0"): Verdict.GOOD, one.cell("1.31"): Verdict.BAD,
    }))  # fmt: skip
    assert one.runtime.runs[0] == one.cell("1.17")
    assert any(phase.endswith("next lib 1.17 (warm)") for phase in one.listener.phases)


def test_a_run_may_choose_for_itself(tmp_path):
    one = bench(tmp_path, VERSIONS[:3], {"a": since(1), "b": since(2)})
    report = run(one.shop, Options(), Search(goal=GOAL, always=False))
    assert report.searched is None
    assert sorted(one.runtime.runs) == sorted(cell.id for cell in one.cells)
    assert one.listener.phases[-1] == "measuring 3 of 3 cells, 1 at once"


def test_a_run_with_a_search_reports_it(tmp_path):
    one = bench(tmp_path, VERSIONS, {"a": since(20)})
    report = run(one.shop, Options(), Search(prior=SURE, goal=GOAL))
    assert report.searched is not None
    assert report.searched.runs == len(one.runtime.runs)
    (only,) = report.series
    assert [str(t.version) for t in only.transitions] == ["1.20"]
    again = bench(tmp_path, VERSIONS, {"a": since(20)})
    assert run(again.shop, Options(), Search(prior=SURE, goal=GOAL)).series[0].points == only.points


def test_what_the_user_gives_is_believed_until_runs_refute_it(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, VERSIONS)
    search = Search(prior=SURE, goal=GOAL, given={one.cell("1.0"): Verdict.BAD, one.cell("1.31"): Verdict.GOOD})
    ran(one, field, "1.0")
    assert rows(one, field, search)[0].given[0, [0, 31]].tolist() == [1, -1]
    ran(one, field, "1.0")
    (row,) = rows(one, field, search)
    assert row.given[0, [0, 31]].tolist() == [0, -1]
    assert adaptive.refuted([row], search) == (one.cell("1.0"),)
    before = len(one.runtime.runs)
    found = sought(one, field, search)
    assert (found.runs, found.stopped) == (0, "runs say otherwise than what is given")
    assert len(one.runtime.runs) == before


def test_a_side_of_a_change_that_was_only_given_is_run(tmp_path):
    one, field = made(tmp_path, {"a": since(1)}, VERSIONS[:2])
    ends = {one.cell("1.0"): Verdict.GOOD, one.cell("1.1"): Verdict.BAD}
    found = sought(one, field, Search(prior=replace(SURE, single=True), goal=GOAL, given=ends))
    assert sorted(one.runtime.runs) == sorted(ends)
    assert (found.open, found.stopped) == ((), None)


def test_a_run_that_the_answer_contradicts_is_made_again(tmp_path):
    one, field = made(tmp_path, {"a": lambda version, number: version.minor == 7 and number == 0}, VERSIONS[:12])
    ran(one, field, *VERSIONS[:12])
    sure_enough = Prior(noise=(Noise(false_fail=0.1, false_pass=0.1),), expected=(0.3,))
    found = sought(one, field, Search(prior=sure_enough, goal=GOAL))
    assert found.open == ()
    # Until more of its runs agree with the answer than do not.
    assert one.runtime.runs[12:] == [one.cell("1.7")] * 2
    (only,) = series(one.shop.matrix, field.measured(one.shop.matrix))
    assert only.transitions == ()
    assert only.belief.flaky
    assert [(point.bad, point.good) for point in only.points if point.version.minor == 7] == [(1, 2)]
