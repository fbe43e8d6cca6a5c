"""How sure an answer is and what it takes, in the words that every format uses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from orchestrator.model import (
    Belief,
    Cause,
    CauseKind,
    Gap,
    Outcome,
    Point,
    Searched,
    Series,
    Verdict,
    Witness,
)
from orchestrator.pinpoint import state, transitions
from orchestrator.report import certainty, evidence, render
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.model import Report

BELIEF = Belief(probability=0.97, runs=7, false_fail=0.04, false_pass=0.12, flaky=False)
GAP = Gap(after=Version("1.0"), before=Version("1.4"), untested=3, hidden=0.021)
SEARCHED = Searched(runs=12, cells=9, of=40, confidence=0.95)


def series(runs: Sequence[tuple[int, int]], **more: object) -> Series:
    """Return a series of versions 1.0, 1.1, … with so many bad and good runs in each."""
    points = tuple(
        Point(
            version=Version(f"1.{minor}"),
            cell=f"c{minor}",
            outcome=Outcome.FAIL if bad > good else Outcome.PASS if good else Outcome.NOT_RUN,
            verdict=Verdict.BAD if bad > good else Verdict.GOOD if good else Verdict.UNKNOWN,
            bad=bad,
            good=good,
        )
        for minor, (bad, good) in enumerate(runs)
    )
    return Series(
        issue="i",
        stack="s",
        axis="lib",
        fixed={},
        points=points,
        transitions=transitions(points),
        state=state(points),
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def reported(report: Report):
    """Return a report of some series and nothing else."""

    def make(*series: Series, searched: Searched | None = None) -> Report:
        return replace(report, series=series, findings=(), cells=(), searched=searched)

    return make


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        (0.0, "under 0.1%"),
        (0.0009, "under 0.1%"),
        (0.001, "0.1%"),
        (0.5, "50.0%"),
        (0.9426, "94.3%"),
        (0.999, "99.9%"),
        (0.9995, "over 99.9%"),
        (1.0, "over 99.9%"),
    ],
)
def test_percent(chance: float, expected: str) -> None:
    assert certainty.percent(chance) == expected


def test_nothing_is_said_where_every_cell_was_run_and_runs_agree(reported) -> None:
    assert certainty.sentences(reported(series([(0, 1), (1, 0)], belief=BELIEF))) == ()


def test_a_search_says_how_surely_each_series_is_known(reported) -> None:
    known, unknown = series([(0, 1), (1, 0)], belief=BELIEF), series([(0, 0)])
    found = certainty.sentences(reported(known, replace(unknown, issue="j"), searched=SEARCHED))
    assert found == ("i in s / lib: known at 97.0% after 7 runs",)
    once = reported(replace(known, belief=replace(BELIEF, runs=1)), searched=SEARCHED)
    assert certainty.sentences(once) == ("i in s / lib: known at 97.0% after 1 run",)


def test_a_gap_is_told_with_what_hides_in_it_and_in_all_of_them(reported) -> None:
    one = series([(0, 1), (0, 0), (0, 0), (0, 0), (0, 1)], belief=replace(BELIEF, gap=GAP, hidden=0.033))
    assert certainty.sentences(reported(one)) == (
        "i in s / lib: known at 97.0% after 7 runs; largest gap 1.0 … 1.4 (3 untested), where a change hides "
        "with 2.1%; in any gap 3.3%",
    )


def test_a_flaky_probe_is_named_with_where_and_how_often(reported) -> None:
    belief = replace(BELIEF, flaky=True)
    assert certainty.sentences(reported(series([(0, 2), (1, 2), (2, 0), (3, 1)], belief=belief))) == (
        "i in s / lib: known at 97.0% after 7 runs; flaky at 1.1 (1 of 3 runs failed) and 1.3 (3 of 4 runs "
        "failed): estimated to fail in 4.0% of runs where it is ok and to pass in 12.0% where it is affected",
    )
    (many,) = certainty.sentences(reported(series([(1, 2)] * 6, belief=belief)))
    assert "flaky at 1.0 (1 of 3 runs failed), 1.1 (1 of 3 runs failed) and 4 more: estimated" in many


def test_where_one_series_has_something_to_tell_all_are_told(reported) -> None:
    plain = replace(series([(0, 1), (1, 0)], belief=BELIEF), issue="j")
    found = certainty.sentences(reported(series([(1, 2)], belief=replace(BELIEF, flaky=True)), plain))
    assert [sentence.partition(" ")[0] for sentence in found] == ["i", "j"]


@pytest.mark.parametrize(
    ("searched", "expected"),
    [
        (SEARCHED, "searched: 12 runs, results in 9 of 40 cells; every issue is answered at 95.0%"),
        (
            replace(SEARCHED, runs=1, single=True, confidence=0.999),
            "searched: 1 run, results in 9 of 40 cells; every issue is answered at 99.9%, "
            "one change at most assumed",
        ),
        (
            replace(SEARCHED, open=("a in s", "b in s"), stopped="its budget of 12 cells is used"),
            "searched: 12 runs, results in 9 of 40 cells; not answered at 95.0%: a in s and b in s, "
            "because its budget of 12 cells is used",
        ),
        (
            replace(SEARCHED, open=("a in s",), single=True),
            "searched: 12 runs, results in 9 of 40 cells; not answered at 95.0%, one change at most assumed: "
            "a in s, and no cell that can be run tells more",
        ),
    ],
)
def test_how_a_search_went(searched: Searched, expected: str) -> None:
    assert certainty.search(searched) == expected


def test_many_open_issues_are_counted() -> None:
    said = certainty.search(replace(SEARCHED, open=tuple(f"i{number} in s" for number in range(20))))
    assert "i4 in s and 15 more, and no cell" in said
    assert "i5" not in said


def test_people_are_shown_both(reported) -> None:
    one = series([(0, 1), (1, 2), (2, 0)], belief=replace(BELIEF, flaky=True, gap=GAP, hidden=0.033))
    shown = reported(one, searched=SEARCHED)
    text = render(shown, "text", width=200)
    assert certainty.search(SEARCHED) in text
    (sentence,) = certainty.sentences(shown)
    section = re.search(r"^Certainty\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    assert section is not None
    assert " ".join(section[1].split()) == sentence
    markdown = render(shown, "markdown")
    assert f"- {certainty.search(SEARCHED)}" in markdown
    assert "<details><summary>How sure</summary>" in markdown
    assert f"- {sentence}" in markdown


def test_people_are_not_shown_what_there_is_not(reported) -> None:
    plain = reported(series([(0, 1), (1, 0)], belief=BELIEF))
    assert "Certainty" not in render(plain, "text", width=120)
    assert "How sure" not in render(plain, "markdown")
    assert "searched" not in render(plain, "text", width=120) + render(plain, "markdown")


def facts(report: Report, label: str) -> list[str]:
    (exhibit,) = evidence.exhibits(report)
    return [fact.text for fact in exhibit.facts if fact.label == label]


def changed(**more: object) -> Series:
    """Return a series with one transition, of which more is known."""
    one = series([(0, 1), (2, 0)], belief=BELIEF)
    return replace(one, transitions=(replace(one.transitions[0], **more),))  # type: ignore[arg-type]


def test_a_transition_says_how_sure_it_is_and_after_how_many_runs(reported) -> None:
    assert facts(reported(changed(confidence=0.951)), "certainty") == [
        "95.1%, with 1 run of 1.0 and 2 runs of 1.1"
    ]
    since = series([(3, 0), (1, 0)])
    first = replace(since, transitions=(replace(since.transitions[0], confidence=0.9999),))
    assert facts(reported(first), "certainty") == ["over 99.9%, with 3 runs of 1.0"]


def test_without_counted_runs_nothing_is_said_of_certainty(reported) -> None:
    one = changed()
    bare = replace(one, points=tuple(structs.replace(point, bad=0, good=0) for point in one.points))
    assert facts(reported(bare), "certainty") == []


def cause(kind: CauseKind, *packages: str, **more: object) -> Cause:
    return Cause(
        **{
            "kind": kind,
            "packages": packages,
            "probability": 0.981,
            "alternatives": (),
            "differing": ("torch", "numpy", "triton"),
            "cells": 3,
            **more,
        }  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (cause(CauseKind.EXACT, "torch", cells=1), "it takes torch (98.1%, 1 hybrid cell)"),
        (cause(CauseKind.EXACT, "torch", "numpy"), "it takes torch and numpy together (98.1%, 3 hybrid cells)"),
        (
            cause(
                CauseKind.SET,
                "torch",
                alternatives=((("torch",), 0.6), (("triton", "numpy"), 0.31), ((), 0.09)),
            ),
            "torch 60%, triton with numpy 31% or something else 9%: no cell that can be installed separates them "
            "(3 hybrid cells)",
        ),
        (
            cause(CauseKind.ELSE, "numpy", "torch"),
            "no set of up to three packages explains what 3 hybrid cells showed; the smallest that fails: "
            "numpy and torch",
        ),
        (
            cause(CauseKind.OPEN, "torch", "numpy", cells=0),
            "one of torch and numpy: the search ended before it was known (0 hybrid cells)",
        ),
    ],
)
def test_what_it_takes(reported, found: Cause, expected: str) -> None:
    report = reported(changed(cause=found, culprit=("torch", "numpy")))
    assert facts(report, "cause") == [expected]
    (culprit,) = facts(report, "culprit")
    assert culprit == "torch or numpy"


def test_without_hybrid_cells_several_culprits_are_not_separated(reported) -> None:
    report = reported(changed(culprit=("torch", "numpy")))
    assert facts(report, "culprit") == ["torch or numpy: no cell here separates them"]
    assert facts(report, "cause") == []


def test_witnesses_are_shown_with_their_cells(reported) -> None:
    witnesses = (
        Witness(taken=("torch", "numpy"), fails=True, cells=("h1",)),
        Witness(taken=("torch",), fails=False, cells=("h2", "h3")),
        Witness(taken=(), fails=False, cells=("c0",)),
    )
    report = reported(changed(cause=cause(CauseKind.EXACT, "torch", "numpy", witnesses=witnesses)))
    assert facts(report, "witness") == [
        "fails with torch and numpy of the bad side: h1",
        "passes with torch of the bad side: h2, h3",
        "passes with nothing of the bad side: c0",
    ]


def test_a_commit_is_shown_as_it_is_called(reported) -> None:
    called = "0123456789ab 2026-01-02 Make it faster"
    assert facts(reported(changed(commit=called)), "commit") == [called]
    assert facts(reported(changed()), "commit") == []


def test_people_are_shown_the_cause(reported) -> None:
    report = reported(changed(cause=cause(CauseKind.EXACT, "torch"), commit="0123 Make it faster"))
    for rendered in (render(report, "text", width=200), render(report, "markdown")):
        assert "it takes torch (98.1%, 3 hybrid cells)" in rendered
        assert "0123 Make it faster" in rendered


def test_what_a_search_left_out_is_not_listed_as_unknown(report: Report) -> None:
    row = replace(report.cells[0], cell="left-out", outcome=Outcome.NOT_RUN, reason="it was not run")
    shown = replace(report, cells=(*report.cells, row))
    assert any(one.what == "left-out" for one in evidence.unknowns(shown))
    assert not any(one.what == "left-out" for one in evidence.unknowns(replace(shown, searched=SEARCHED)))


def test_a_transition_is_what_the_evidence_is_headed_by(reported) -> None:
    (exhibit,) = evidence.exhibits(reported(changed()))
    assert (exhibit.issue, exhibit.where, exhibit.change) == ("i", "s / lib", "introduced in 1.1 (after 1.0)")
