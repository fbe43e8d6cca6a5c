from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from orchestrator.model import Cause, CauseKind, State
from orchestrator.pinpoint import collapse, state, transitions
from orchestrator.report import words
from orchestrator.report.clean import cleaned
from orchestrator.report.html import answers as made
from orchestrator.report.html.exhibits import facts
from orchestrator.report.html.layout import layout

if TYPE_CHECKING:
    from orchestrator.model import Report, Series


def answers(report: Report) -> tuple[made.Answer | made.Folded, ...]:
    laid = layout(cleaned(report))
    return made.answers(laid, facts(laid))


def told(report: Report) -> list[made.Answer]:
    return [one for one in answers(report) if isinstance(one, made.Answer)]


def dot(report: Report) -> Series:
    return next(one for one in report.series if (one.issue, one.stack) == ("torch-dot-half", "torch-cpu"))


def combined(report: Report, *shifts: int) -> Report:
    """Return a report in which an issue is fixed later by so many versions, on a Python of its own each."""
    series = dot(report)
    outcomes = [(p.outcome, p.verdict, p.signature) for p in series.points]
    made = []
    for number, shift in enumerate(shifts):
        moved = [outcomes[0]] * shift + outcomes[: len(outcomes) - shift]
        points = tuple(
            structs.replace(point, outcome=outcome, verdict=verdict, signature=signature)
            for point, (outcome, verdict, signature) in zip(series.points, moved, strict=True)
        )
        fixed = {"python": f"3.{number}"}
        changes = transitions(points)
        made.append(replace(series, fixed=fixed, points=points, transitions=changes, state=state(points)))
    return replace(report, series=tuple(made))


def test_an_answer_per_group_in_the_order_of_the_report(report: Report) -> None:
    groups = collapse(cleaned(report).series)
    found = told(report)
    assert [(one.issue, one.now, one.where) for one in found] == [
        (group.shown.issue, words.now(group.shown), words.where(group)) for group in groups
    ]
    assert len({one.anchor for one in found}) == len(found)


def test_an_answer_leads_to_its_evidence(report: Report) -> None:
    laid = layout(cleaned(report))
    shown = {one.anchor: one for one in facts(laid).shown}
    one = next(one for one in told(report) if one.issue == "torch-dot-half")
    (episode,) = one.episodes
    assert shown[episode.introduced.evidence or ""].change.startswith("introduced ≤ 2.0.1")
    assert shown[episode.fixed.evidence or ""].change == "fixed in 2.2.0 (after 2.1.2)"
    assert episode.fixed.compare == "https://github.com/pytorch/pytorch/compare/v2.1.2...v2.2.0"
    assert one.culprit == "torch 2.1.2 → 2.2.0"
    assert (one.tone, one.confidence[-1], one.known[-1]) == ("ok", "%", "%")


def test_what_hybrids_found_comes_before_what_differs(report: Report) -> None:
    series = dot(report)
    cause = Cause(
        kind=CauseKind.EXACT,
        packages=("torch",),
        probability=0.97,
        alternatives=((("torch",), 0.97),),
        differing=("torch", "numpy"),
        cells=4,
    )
    last = replace(series.transitions[-1], cause=cause)
    changed = replace(series, transitions=(*series.transitions[:-1], last))
    (one,) = told(replace(report, series=(changed,)))
    assert one.culprit == "it takes torch (97.0%, 4 hybrid cells)"


def test_series_that_answer_the_same_are_one_answer(report: Report) -> None:
    found = told(combined(report, 0, 1, 1, 0, 2))
    assert [one.where for one in found] == [
        "torch-cpu / torch, python 3.0 and 3.3",
        "torch-cpu / torch, python 3.1 and 3.2",
        "torch-cpu / torch, python 3.4",
    ]


def test_the_confidence_of_several_is_from_the_lowest_to_the_highest(report: Report) -> None:
    one, two = combined(report, 0, 0).series
    last = one.transitions[-1]
    one = replace(one, transitions=(*one.transitions[:-1], replace(last, confidence=0.8)))
    # An outcome that differs makes it a group of its own; the answer stays the same.
    points = (structs.replace(two.points[0], outcome=dot(report).points[0].outcome), *two.points[1:])
    last = replace(two.transitions[-1], confidence=0.9, culprit=())
    two = replace(two, points=points, transitions=(*two.transitions[:-1], last))
    crash = next(p for s in report.series for p in s.points if p.outcome.value == "crash").outcome
    two = replace(two, points=(structs.replace(two.points[0], outcome=crash), *two.points[1:]))
    (answer,) = told(replace(report, series=(one, two)))
    assert answer.confidence == "80.0% … 90.0%"


def test_rare_answers_of_many_are_folded(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "MOST", 2)
    found = answers(combined(report, 0, 1, 1, 2, 3, 4, 1, 2))
    *shown, folded = found
    assert [one.where for one in shown] == [
        "torch-cpu / torch, python 3.1, 3.2 and 3.6",
        "torch-cpu / torch, python 3.3 and 3.7",
    ]
    assert isinstance(folded, made.Folded)
    assert folded.answers == 3
    assert len(folded.numbers) == 3
    numbers = sorted(number for one in found for number in one.numbers)
    assert numbers == list(range(len(numbers)))


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "http:", "ftp://a/b"]
)
def test_addresses_that_are_not_of_the_web_are_no_links(report: Report, address: str) -> None:
    series = tuple(
        replace(one, transitions=tuple(replace(t, compare=address) for t in one.transitions))
        for one in report.series
    )
    topics = {name: replace(topic, link=address) for name, topic in report.issues.items()}
    for one in told(replace(report, series=series, issues=topics)):
        assert one.link is None
        assert all(side.compare is None for e in one.episodes for side in (e.introduced, e.fixed))


def test_an_issue_that_nothing_is_known_of_has_no_confidence(report: Report) -> None:
    one = next(one for one in told(report) if one.tone == "unknown")
    assert (one.confidence, one.known, one.culprit) == ("", "", "")
    assert State.UNKNOWN.value in one.now
