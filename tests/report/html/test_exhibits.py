from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from orchestrator.model import Outcome
from orchestrator.report import evidence
from orchestrator.report.clean import cleaned
from orchestrator.report.html.exhibits import LOG_COLUMNS, LOG_LINES, Shown, facts
from orchestrator.report.html.layout import layout

if TYPE_CHECKING:
    from orchestrator.model import Report


def shown(report: Report) -> tuple[Shown, ...]:
    return facts(layout(cleaned(report))).shown


def test_every_transition_has_an_exhibit_with_an_id_of_its_own(report: Report) -> None:
    found = shown(report)
    assert [(one.issue, one.change, one.where) for one in found] == [
        (one.issue, one.change, one.where) for one in evidence.exhibits(cleaned(report))
    ]
    assert len({one.anchor for one in found}) == len(found)


def test_ids_stay_when_other_things_of_the_report_change(report: Report) -> None:
    kept = replace(report, series=report.series[::-1], cells=report.cells[::-1], notices=("more",))
    assert {one.anchor for one in shown(kept)} == {one.anchor for one in shown(report)}


def test_equal_changes_of_several_series_are_one_exhibit(report: Report) -> None:
    one, other = (series for series in report.series if series.stack == "xla-cpu")
    crash = structs.replace(other.points[0], outcome=Outcome.CRASH)
    parted = replace(report, series=(one, replace(other, points=(crash, *other.points[1:]))))
    found = shown(parted)
    assert [one.also for one in found] == [1, 1]
    assert {one.where for one in found} == {"xla-cpu / torch_xla, python 3.10 and 3.11"}
    assert [one.numbers for one in found] == [(0, 1), (0, 1)]


def test_the_log_is_of_the_bad_side_or_of_what_failed_alike(report: Report) -> None:
    introduced, fixed = (one for one in shown(report) if one.issue == "torch-dot-half")
    assert introduced.excerpt is not None
    assert fixed.excerpt == introduced.excerpt
    assert introduced.excerpt.version == "2.0.1"
    _, after = (one for one in shown(report) if one.issue == "torch-no-grad")
    assert after.excerpt is not None
    assert after.excerpt.version == "2.1.0"  # where it last failed, in another way than at first


def test_a_long_log_is_cut(report: Report) -> None:
    series = next(one for one in report.series if one.issue == "torch-weights-only")
    log = tuple(f"{number} " + "x" * 1000 for number in range(100))
    points = tuple(structs.replace(point, log=log if point.log else ()) for point in series.points)
    (found,) = shown(replace(report, series=(replace(series, points=points),)))
    assert found.excerpt is not None
    assert len(found.excerpt.lines) == LOG_LINES
    assert {len(line) for line in found.excerpt.lines} == {LOG_COLUMNS}
    assert found.excerpt.lines[-1].startswith("99 ")


def test_a_link_that_is_not_of_the_web_is_no_fact(report: Report) -> None:
    series = tuple(
        replace(one, transitions=tuple(replace(t, compare="javascript:x") for t in one.transitions))
        for one in report.series
    )
    found = shown(replace(report, series=series))
    assert found
    assert not [fact for one in found for fact in one.facts if fact.is_link]
