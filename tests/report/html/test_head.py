from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from orchestrator.model import Comparison, Difference, News, Outcome, Shift, State
from orchestrator.report.html.head import SENTENCES, head

if TYPE_CHECKING:
    from orchestrator.model import Report


def test_it_says_what_is_new(report: Report) -> None:
    assert head(report).headline == "2 unexpected results"
    assert [one.tone for one in head(report).news] == ["bad", "bad"]
    assert head(replace(report, findings=report.findings[:1])).headline == "1 unexpected result"
    assert head(replace(report, findings=())).headline == "Nothing unexpected"


def test_each_issue_stands_where_its_worst_place_does(report: Report) -> None:
    found = {one.word: one.issues for one in head(report).standings}
    assert found == {"affected": 2, "ok": 5, "unknown": 0}
    assert sum(found.values()) == len(report.issues)
    blind = replace(report, series=tuple(replace(one, state=State.UNKNOWN) for one in report.series))
    assert [one.issues for one in head(blind).standings] == [0, 0, len(report.issues)]


def test_the_bar_of_coverage_has_every_cell_once(report: Report) -> None:
    shown = head(report)
    ends = [share.start + share.cells for share in shown.shares]
    assert [share.start for share in shown.shares] == [0, *ends[:-1]]
    assert ends[-1] == shown.cells == sum(not row.excluded for row in report.cells)
    assert shown.shares[0].cells == sum(row.outcome is None for row in report.cells)
    known = {outcome for row in report.cells if (outcome := row.outcome) and outcome.measured}
    assert known == {Outcome.INCOMPATIBLE}
    assert [share.tone for share in shown.shares] == ["ok", "known", "open", "open"]


def test_sentences_beyond_what_is_read_are_counted(report: Report) -> None:
    series = next(one for one in report.series if one.belief is not None)
    assert series.belief is not None
    mixed = (structs.replace(series.points[0], bad=1, good=1), *series.points[1:])
    many = tuple(
        replace(series, issue=f"issue-{number}", points=mixed, belief=replace(series.belief, flaky=True))
        for number in range(SENTENCES + 3)
    )
    shown = head(replace(report, series=many))
    assert len(shown.certainty) == SENTENCES
    assert shown.uncertain == 3


def test_it_says_what_differs_from_the_run_before(report: Report) -> None:
    series = next(one for one in report.series if one.issue == "torch-weights-only")
    worse = Difference(
        kind=News.AFFECTED,
        issue=series.issue,
        stack=series.stack,
        axis=series.axis,
        fixed={},
        versions=(series.points[-1].version,),
        before=Outcome.PASS,
        after=Outcome.FAIL,
    )
    shift = Shift(what="driver", before="550", after="560", cells=3)
    comparison = Comparison(
        old=report.provenance, new=report.provenance, compared=9, differences=(worse,), shifts=(shift,)
    )
    assert head(report).since is None
    told = head(replace(report, since=comparison)).since
    assert told is not None
    assert told.headline == "since the run of 2026-11-20 09:30 UTC: 1 newly affected"
    assert [one.tone for one in told.changes] == ["bad", "unknown"]
    assert "torch-weights-only in torch-cpu / torch at 2.8.0" in told.changes[0].text
    assert "550 → 560" in told.changes[1].text
