"""What is known of cells: recalled, added to, judged, and told apart from what cannot be known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from builders import axis, exclusion, issue, matrix, stack
from orchestrator.execute.port import Base
from orchestrator.knowledge import Field, Known, probes_of, settle, survey
from orchestrator.matrix import Selection, expand
from orchestrator.measure import Options, measure, plan_for
from orchestrator.model import Attempt, Import, LockedCell, Origin, Outcome, ProbeResult, Unresolvable, Verdict
from workbench import bench, lock

ONE, TWO = "t.py::one", "t.py::two"
MATRIX = matrix(
    stack("s", axis("lib", "1", "2", "3"), exclude=(exclusion("never built", lib="==3"),)),
    stack("gpu", axis("lib", "1")),
    issues=(issue("both", {"s": "lib", "gpu": "lib"}, ONE, TWO), issue("single", {"s": "lib"}, TWO)),
)
FIRST, SECOND, LEFT_OUT, ON_GPU = expand(MATRIX)
BASE = Base(python="3.11", digest="base", reference="base", origin="fake")


def result(probe, outcome, signature=None, message=None):
    return ProbeResult(probe=probe, outcome=outcome, signature=signature, message=message, duration=1.0)


def attempt(name, *results, cell=FIRST, seen=()):
    started = datetime(2026, 1, 1, tzinfo=UTC)
    origin = Origin(attempt=name, runtime="fake", base="base", started=started, duration=1.0)
    return Attempt(cell=cell.id, origin=origin, imports=seen, results=results)


def known(*attempts, cell=FIRST, probes=(ONE, TWO)):
    one = Known(cell=cell, lock=lock(cell), base=BASE, probes=probes, attempts=[])
    for each in attempts:
        one.learn(each)
    return one


def field(*known, cells=(FIRST, SECOND), absent=None, unresolvable=()):
    locked = {one.cell.id: LockedCell(cell=one.cell, lock=one.lock) for one in known}
    return Field(
        selection=Selection(),
        cells=cells,
        absent=absent or {},
        locked={**locked, **{one.cell.id: one for one in unresolvable}},
        known={one.cell.id: one for one in known},
    )


def judged(one, cell=FIRST):
    """Return what is judged of a cell, as a value of its own."""
    (found,) = (each for each in one.measured(MATRIX) if each.cell.id == cell.id)
    return found


def test_the_newest_result_of_each_probe_counts_and_every_attempt_is_kept():
    one = known(
        attempt("a", result(ONE, Outcome.PASS), result(TWO, Outcome.FAIL)),
        attempt("b", result(ONE, Outcome.CRASH)),
    )
    assert {probe: found.outcome for probe, found in one.results.items()} == {
        ONE: Outcome.CRASH,
        TWO: Outcome.FAIL,
    }
    assert [each.origin.attempt for each in one.attempts] == ["a", "b"]


def test_imports_are_those_that_were_seen_last():
    old, new = (Import(package="lib", version="1", git_version=git) for git in ("aaaa", "bbbb"))
    other = Import(package="mate", version="1", git_version=None)
    one = known(attempt("a", seen=(old, other)), attempt("b", seen=(new,)))
    assert one.imports == {"lib": new, "mate": other}


@pytest.mark.parametrize(
    ("rerun", "expected"),
    [
        ("missing", {"none"}),
        ("failed", {"none", "fail", "crash", "timeout", "error"}),
        ("infra", {"none", "error"}),
        ("all", {"none", "fail", "crash", "timeout", "error", "pass", "absent"}),
    ],
)
def test_what_is_to_be_run(rerun, expected):
    names = ("pass", "fail", "crash", "timeout", "error", "absent")
    one = known(attempt("a", *(result(name, Outcome(name)) for name in names)), probes=("none", *names))
    assert set(one.missing(rerun)) == expected
    assert known(probes=(ONE, TWO)).missing("missing") == (ONE, TWO)


def test_every_attempt_that_ran_all_probes_of_an_issue_is_a_run():
    one = known(
        attempt("a", result(ONE, Outcome.PASS), result(TWO, Outcome.PASS)),
        attempt("b", result(TWO, Outcome.FAIL, "ValueError: no")),
        attempt("c", result(ONE, Outcome.PASS), result(TWO, Outcome.PASS)),
    )
    found = judged(field(one))
    assert [each.verdict for each in found.judged("both")] == [Verdict.GOOD, Verdict.GOOD]
    assert [each.verdict for each in found.judged("single")] == [Verdict.GOOD, Verdict.BAD, Verdict.GOOD]
    assert {name: each.verdict for name, each in found.judgements.items()} == {
        "both": Verdict.GOOD,
        "single": Verdict.GOOD,
    }


def test_probes_that_only_ran_apart_are_judged_together():
    one = known(attempt("a", result(ONE, Outcome.PASS)), attempt("b", result(TWO, Outcome.FAIL, "ValueError: no")))
    (run,) = judged(field(one)).judged("both")
    assert (run.verdict, run.signature, run.attempt, run.duration) == (Verdict.BAD, "ValueError: no", None, 2.0)


def test_a_run_that_tells_nothing_hides_none_that_does():
    one = known(
        attempt("a", result(ONE, Outcome.PASS), result(TWO, Outcome.FAIL)),
        attempt("b", result(ONE, Outcome.ERROR), result(TWO, Outcome.ERROR)),
    )
    found = judged(field(one))
    assert [each.outcome for each in found.judged("single")] == [Outcome.FAIL]
    assert found.judgements["both"].verdict is Verdict.BAD


def test_where_no_run_tells_anything_that_is_what_is_known():
    one = known(
        attempt("a", result(ONE, Outcome.ERROR), result(TWO, Outcome.ERROR)),
        attempt("b", result(ONE, Outcome.ABSENT), result(TWO, Outcome.ABSENT, "lib.api")),
    )
    (run,) = judged(field(one)).judged("single")
    assert (run.outcome, run.verdict, run.signature) == (Outcome.ABSENT, Verdict.UNKNOWN, "lib.api")


def test_a_measured_cell_has_its_lock_and_commits():
    seen = Import(package="lib", version="1", git_version="aaaa")
    one = known(attempt("a", result(ONE, Outcome.PASS), result(TWO, Outcome.PASS), seen=(seen,)))
    found = judged(field(one))
    assert (found.lock, found.git_versions, found.reason, found.log) == (one.lock, {"lib": "aaaa"}, None, ())
    assert found.origin == one.attempts[0].origin
    assert {each.attempt for each in found.judgements.values()} == {"a"}


def test_a_cell_whose_device_is_not_here_says_so():
    found = judged(field(cells=(FIRST, ON_GPU), absent={"gpu": "no Intel GPU"}), ON_GPU)
    assert {name: each.outcome for name, each in found.judgements.items()} == {"both": Outcome.NO_DEVICE}
    assert (found.reason, found.lock, found.outcome) == ("no Intel GPU", None, Outcome.NO_DEVICE)


@pytest.mark.parametrize(("transient", "outcome"), [(False, Outcome.UNRESOLVABLE), (True, Outcome.INFRA)])
def test_a_cell_that_cannot_be_resolved_says_why(transient, outcome):
    refused = Unresolvable(cell=FIRST, reason="lib==1 needs dep<1", transient=transient)
    found = judged(field(unresolvable=(refused,)))
    assert {each.outcome for each in found.judgements.values()} == {outcome}
    assert found.reason == "lib==1 needs dep<1"


@pytest.mark.parametrize("one", [field(known()), field()])
def test_a_cell_that_was_not_run_or_is_left_for_later_is_only_that(one):
    found = judged(one)
    assert {each.outcome for each in found.judgements.values()} == {Outcome.NOT_RUN}
    assert found.reason == "it was not run"


def test_an_excluded_cell_is_asked_nothing():
    found = judged(field(cells=(FIRST, LEFT_OUT)), LEFT_OUT)
    assert (found.judgements, found.runs, found.reason) == ({}, {}, None)


def test_where_no_environment_could_be_made_the_end_of_its_log_is_shown():
    message = "no space\n" + "\n".join(f"line {number}" for number in range(30))
    results = [result(probe, Outcome.BUILD_FAILED, "no space", message) for probe in (ONE, TWO)]
    found = judged(field(known(attempt("a", *results))))
    assert (found.outcome, found.reason) == (Outcome.BUILD_FAILED, "no space")
    assert found.log == tuple(f"line {number}" for number in range(10, 30))


def test_only_selected_issues_are_judged():
    one = replace(field(known()), selection=Selection(issues=("single",)))
    assert set(judged(one).judgements) == {"single"}
    assert probes_of(MATRIX, FIRST, Selection(issues=("single",))) == (TWO,)
    assert probes_of(MATRIX, FIRST, Selection()) == (ONE, TWO)


def test_later_are_the_cells_that_nobody_has_tried_to_lock():
    refused = Unresolvable(cell=SECOND, reason="no")
    one = field(cells=(FIRST, SECOND, LEFT_OUT, ON_GPU), absent={"gpu": "no"}, unresolvable=(refused,))
    assert one.later == (FIRST,)
    assert field(known(), cells=(FIRST, SECOND)).later == (SECOND,)


def test_attempted_counts_the_cells_with_any_result():
    assert field(known(), known(cell=SECOND)).attempted == 0
    assert field(known(attempt("a", result(ONE, Outcome.ERROR))), known(cell=SECOND)).attempted == 1


def test_fields_are_joined_without_a_cell_twice():
    old = field(known(), cells=(FIRST, LEFT_OUT), absent={"gpu": "no"})
    new = field(known(attempt("a", result(ONE, Outcome.PASS))), known(cell=SECOND), cells=(FIRST, SECOND))
    both = old.joined(new)
    assert both.cells == (FIRST, LEFT_OUT, SECOND)
    assert (set(both.locked), both.absent) == ({FIRST.id, SECOND.id}, {"gpu": "no"})
    assert both.attempted == 1


def test_a_survey_locks_what_can_be_run_and_leaves_the_rest_for_later(tmp_path):
    made = bench(tmp_path, ["1", "2", "3"], {"i": lambda _v, _n: False}, refused={"2": "no such wheel"})
    one = survey(made.shop, Selection(), made.cells[:2], later=made.cells[2:])
    assert made.resolver.asked == [cell.id for cell in made.cells[:2]]
    assert set(one.known) == {made.cells[0].id}
    assert one.later == made.cells[2:]
    assert made.listener.phases == ["resolving 2 cells"]
    settle(made.shop, one, one.later)
    assert one.later == ()
    assert set(one.known) == {made.cells[0].id, made.cells[2].id}


def test_attempts_are_recalled_from_the_store_each_as_it_was(tmp_path):
    made = bench(tmp_path, ["1"], {"i": lambda _v, number: number == 1, "j": lambda _v, _n: True})
    one = survey(made.shop, Selection(), made.cells)
    (cell,) = one.known.values()
    for _ in range(3):
        measure(made.shop, Options(), [(cell, cell.probes)], plan_for(made.shop, one.known, made.cells))
    again = survey(made.shop, Selection(), made.cells)
    (recalled,) = again.known.values()
    assert recalled.attempts == cell.attempts
    assert recalled.imports == cell.imports
    (found,) = again.measured(made.shop.matrix)
    assert [each.verdict for each in found.judged("i")] == [Verdict.GOOD, Verdict.BAD, Verdict.GOOD]
    assert [each.verdict for each in found.judged("j")] == [Verdict.BAD] * 3
    assert found == one.measured(made.shop.matrix)[0]
