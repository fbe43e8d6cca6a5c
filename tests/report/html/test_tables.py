from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import structs

from orchestrator.model import Outcome, Point, Verdict
from orchestrator.pinpoint import collapse
from orchestrator.report import words
from orchestrator.report.clean import cleaned
from orchestrator.report.html import tables
from orchestrator.report.html.age import STALE, stale
from orchestrator.report.html.layout import layout
from orchestrator.versions import Version

if TYPE_CHECKING:
    import pytest

    from orchestrator.model import CellRow, Report


def sheets(report: Report) -> tuple[tables.Sheet, ...]:
    return tables.sheets(layout(cleaned(report)))


def row(report: Report, issue: str) -> tables.Row:
    return next(
        row
        for sheet in sheets(report)
        for table in sheet.tables
        for block in table.blocks
        if block.issue == issue
        for row in block.rows
    )


def test_rows_are_numbered_from_the_first_of_the_page_to_the_last(report: Report) -> None:
    numbers = [row.number for s in sheets(report) for t in s.tables for b in t.blocks for row in b.rows]
    assert numbers == list(range(len(numbers)))
    laid = layout(cleaned(report))
    assert [one.number for one in laid.rows] == list(range(len(collapse(report.series))))
    assert {one.number for one in laid.rows if one.grid is not None} == set(numbers)


def test_a_place_has_the_class_and_the_word_of_its_outcome(report: Report) -> None:
    marks = row(report, "torch-no-grad").marks
    assert [mark.classes[0] for mark in marks] == ["f", "c", *["o"] * 6]
    assert [mark.word for mark in marks] == ["affected", "crash", *["ok"] * 6]


def test_the_state_changes_at_a_border_that_says_so(report: Report) -> None:
    marks = row(report, "torch-dot-half").marks
    assert [tables.BORDER in mark.classes for mark in marks] == [False] * 3 + [True] + [False] * 4
    assert marks[3].tip == "last bad 2.1.2, first good 2.2.0"
    assert row(report, "torch-weights-only").marks[5].tip == "last good 2.5.1, first bad 2.6.0"
    # A border before the first version would say nothing.
    assert tables.BORDER not in row(report, "torch-no-grad").marks[0].classes


def test_what_is_untested_within_a_change_is_a_gap(report: Report) -> None:
    _, gap, fixed, _ = row(report, "xla-einsum-autocast").marks
    assert gap.classes == ("ub", tables.GAP, tables.BORDER)
    assert gap.tip == "untested; last bad 2.5.1, first good 2.6.1"
    assert tables.BORDER in fixed.classes


def test_unknown_is_never_shown_as_ok_or_affected(report: Report) -> None:
    known = {"o", "f", "c", "t"}
    laid = layout(cleaned(report))
    shown = [row for s in tables.sheets(laid) for t in s.tables for b in t.blocks for row in b.rows]
    assert shown
    for mark_row in shown:
        one = laid.rows[mark_row.number]
        for point, mark in zip(one.group.shown.points, mark_row.marks, strict=True):
            assert (mark.classes[0] in known) == (point.verdict is not Verdict.UNKNOWN)
            assert (mark.classes[0] == "o") == (point.verdict is Verdict.GOOD)


def test_every_glyph_has_a_class_of_its_own() -> None:
    assert tables.KINDS.keys() == words.LEGEND.keys()
    assert len({*tables.KINDS.values(), tables.UNSURE_TIMEOUT}) == len(tables.KINDS) + 1


def test_a_timeout_that_says_nothing_is_unknown(report: Report) -> None:
    def timed(point: Point, verdict: Verdict) -> Point:
        return structs.replace(point, outcome=Outcome.TIMEOUT, verdict=verdict)

    series = next(one for one in report.series if one.issue == "torch-dot-half")
    first, second, *others = series.points
    points = (timed(first, Verdict.BAD), timed(second, Verdict.UNKNOWN), *others)
    marks = row(replace(report, series=(replace(series, points=points),)), series.issue).marks
    assert (marks[0].classes[0], marks[0].word) == ("t", "timeout")
    assert (marks[1].classes[0], marks[1].word) == ("ut", "timeout, unknown")


def test_versions_that_a_row_has_no_cell_of_are_empty(report: Report) -> None:
    one, other, *_ = (series for series in report.series if series.stack == "torch-cpu")
    thinned = replace(one, points=one.points[1:])
    marks = row(replace(report, series=(thinned, other)), one.issue).marks
    assert marks[0] == tables.Mark(classes=(tables.EMPTY,), word="")
    assert tables.EMPTY not in marks[1].classes


def test_old_results_are_dimmed_and_said_to_be_old(report: Report) -> None:
    assert report.provenance.started is not None
    at = report.provenance.started

    def aged(one: CellRow) -> CellRow:
        if one.origin is None:
            return one
        age = STALE + timedelta(seconds=1) if one.cell.endswith("torch2.1.0") else STALE
        return replace(one, origin=replace(one.origin, started=at - age))

    old = replace(report, cells=tuple(map(aged, report.cells)))
    assert stale(old) == {"torch-cpu-py3.11-torch2.1.0"}
    marks = row(old, "torch-no-grad").marks
    assert [mark.word for mark in marks] == ["affected", "crash, old", *["ok"] * 6]
    assert tables.has(sheets(old), tables.STALE)
    assert not tables.has(sheets(report), tables.STALE)
    assert "crash" in {mark.word for mark in tables.legend(sheets(old))}
    assert stale(replace(old, provenance=replace(old.provenance, started=None))) == frozenset()


def test_the_legend_has_what_is_used(report: Report) -> None:
    legend = [mark.word for mark in tables.legend(sheets(report))]
    assert legend == ["ok", "affected", "crash", "absent", "incompatible", "build failed"]


def test_axes_that_change_nothing_are_told_above(report: Report) -> None:
    told = {sheet.stack: sheet.also for sheet in sheets(report)}
    assert told == {"torch-cpu": "", "torchao-cpu": "", "xla-cpu": "same on python 3.10 and 3.11"}


def test_a_long_grid_is_several_tables_that_lose_no_row(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [row.marks for s in sheets(report) for t in s.tables for b in t.blocks for row in b.rows]
    monkeypatch.setattr(tables, "ROWS", 3)
    first = sheets(report)[0]
    assert [table.part for table in first.tables] == ["rows 1 to 3 of 4", "rows 4 to 4 of 4"]
    assert [table.size for table in first.tables] == [3, 1]
    split = [row.marks for s in sheets(report) for t in s.tables for b in t.blocks for row in b.rows]
    assert split == whole


def test_rows_that_differ_by_another_axis_say_which_they_are(report: Report) -> None:
    one, other = (series for series in report.series if series.stack == "xla-cpu")
    crash = structs.replace(other.points[0], outcome=Outcome.CRASH)
    parted = replace(report, series=(one, replace(other, points=(crash, *other.points[1:]))))
    (sheet,) = sheets(parted)
    (block,) = sheet.tables[0].blocks
    assert not block.single
    assert [row.label for row in block.rows] == ["python 3.10", "python 3.11"]
    assert sheet.also == ""


def test_long_versions_are_written_upwards(report: Report) -> None:
    assert all(sheet.upright for sheet in sheets(report))
    series = next(one for one in report.series if one.issue == "torch-qconv-pointwise")
    point = structs.replace(series.points[-1], version=Version("2.10.0.dev20250310"))
    (sheet,) = sheets(replace(report, series=(replace(series, points=(*series.points, point)),)))
    assert not sheet.upright
