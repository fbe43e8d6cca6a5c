from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.model import Outcome, Point, Series, Verdict
from orchestrator.pinpoint import state, transitions
from orchestrator.report.coverage import notices
from orchestrator.report.evidence import exhibits
from orchestrator.report.grid import Grid, grids
from orchestrator.versions import Version

if TYPE_CHECKING:
    from orchestrator.model import Report


OUTCOMES = {
    "g": (Outcome.PASS, Verdict.GOOD),
    "b": (Outcome.FAIL, Verdict.BAD),
    "?": (Outcome.INFRA, Verdict.UNKNOWN),
}


def series(letters: str, signatures: tuple[str, ...] = (), **fixed: str) -> Series:
    """Make a series of versions 1, 2, 3 and so on."""
    points = tuple(
        Point(
            version=Version(str(number)),
            cell=str(number),
            outcome=OUTCOMES[letter][0],
            verdict=OUTCOMES[letter][1],
            signature=signatures[number - 1] if signatures else None,
        )
        for number, letter in enumerate(letters, start=1)
    )
    return Series(
        issue="i",
        stack="torch-cpu",
        axis="torch",
        fixed=fixed,
        points=points,
        transitions=transitions(points),
        state=state(points),
    )


def drawn(grid: Grid) -> list[str]:
    return [
        " ".join(
            filter(
                None, [row.label, "".join(("|" if m.border else "") + m.glyph if m else "." for m in row.marks)]
            )
        )
        for row in grid.rows
    ]


def test_borders_enclose_the_whole_gap(report: Report) -> None:
    (grid,) = grids(replace(report, series=(series("g???bg"),)))
    assert drawn(grid) == ["i ✓|???|✗|✓"]


def test_rows_that_differ_say_for_what(report: Report) -> None:
    rows = (series("gb", python="3.10"), series("gb", python="3.11"), series("ggb", python="3.12"))
    (grid,) = grids(replace(report, series=rows))
    assert grid.also == ""
    assert drawn(grid) == ["i python 3.10 and 3.11 ✓|✗.", "i python 3.12 ✓✓|✗"]


def test_rows_that_agree_are_one_and_the_caption_says_for_what(report: Report) -> None:
    rows = (series("gb", python="3.10"), series("gb", python="3.11"))
    (grid,) = grids(replace(report, series=rows))
    assert grid.also == "python 3.10 and 3.11"
    assert drawn(grid) == ["i ✓|✗"]


def test_each_time_a_failure_changes_its_face_is_evidence_of_its_introduction(report: Report) -> None:
    one = series("gbbbgb", ("", "wrong numbers", "wrong numbers", "SIGSEGV", "", "TypeError"))
    facts = [
        [(fact.label, fact.text) for fact in exhibit.facts] for exhibit in exhibits(replace(report, series=(one,)))
    ]
    # What repeats it is a cell that is affected, also where that ends.
    again = [("repeat", f"orchestrator repro {cell} --issue i --run") for cell in (2, 4, 6)]
    assert facts == [
        [("shows", "wrong numbers"), ("from 4", "SIGSEGV"), again[0]],
        [("until then", "SIGSEGV"), again[1]],
        [("shows", "TypeError"), again[2]],
    ]


def test_what_was_excluded_is_not_counted_as_missing_a_device(report: Report) -> None:
    idle = next(row for row in report.cells if row.stack == "torch-xpu")
    excluded = replace(idle, cell="left-out", outcome=None, excluded=True)
    (missing, *_) = notices(
        replace(report, cells=(idle, excluded), stacks={"torch-xpu": report.stacks["torch-xpu"]})
    )
    assert missing == "torch-xpu: no Intel GPU on this host; 1 cell not run and nothing downloaded for it"
