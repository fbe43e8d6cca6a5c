from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from orchestrator.codec import from_json, to_json
from orchestrator.model import CellRow, Judgement, Moved, Neighbour, Outcome, Pin, Provenance, Report, Verdict
from orchestrator.pinpoint import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import Matrix
    from orchestrator.pinpoint import Measured

PROVENANCE = Provenance(tool="0.1.0", matrix="abc")


def test_rows_name_locked_versions_and_why_nothing_ran(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    made = matrix({"lib": ["1", "2", "3"]}, companion="mate")
    cells = [
        measured("g", {"lib": "1"}, requires={"mate": ">=7"}, locked={"lib": "1+cpu", "mate": "7.1"}),
        measured("?", {"lib": "2"}, requires={"mate": ">=7"}, reason="no space left"),
        measured("", {"lib": "3"}, excluded="yanked"),
    ]
    lock = cells[0].lock
    assert lock is not None
    assert answer(made, cells, PROVENANCE).cells == (
        CellRow(
            cell="s-3.11-1",
            stack="s",
            python="3.11",
            versions={"lib": "1+cpu", "mate": "7.1"},
            lock=lock.digest,
        ),
        CellRow(
            cell="s-3.11-2",
            stack="s",
            python="3.11",
            versions={"lib": "2", "mate": ">=7"},
            outcome=Outcome.INFRA,
            reason="no space left",
        ),
        CellRow(cell="s-3.11-3", stack="s", python="3.11", versions={"lib": "3"}, excluded=True, reason="yanked"),
    )


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], Outcome.NOT_RUN),
        ([Outcome.PASS, Outcome.INFRA], None),
        ([Outcome.ABSENT], None),
        ([Outcome.NOT_RUN, Outcome.INCOMPATIBLE], Outcome.INCOMPATIBLE),
        ([Outcome.NO_DEVICE, Outcome.NO_DEVICE], Outcome.NO_DEVICE),
    ],
)
def test_the_outcome_of_a_whole_cell(
    measured: Callable[..., Measured], outcomes: list[Outcome], expected: Outcome | None
) -> None:
    judgements = {
        str(number): Judgement(outcome=outcome, verdict=Verdict.UNKNOWN) for number, outcome in enumerate(outcomes)
    }
    assert replace(measured("", {"lib": "1"}), judgements=judgements).outcome is expected


def test_the_judgement_says_why_where_nobody_else_does(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    failed = Judgement(outcome=Outcome.BUILD_FAILED, verdict=Verdict.UNKNOWN, signature="pip: exit 1")
    cell = replace(measured("", {"lib": "1"}), judgements={"i": failed})
    assert answer(matrix({"lib": ["1"]}), [cell], PROVENANCE).cells[0].reason == "pip: exit 1"


def test_a_report_is_the_same_after_json(matrix: Callable[..., Matrix], measured: Callable[..., Measured]) -> None:
    made = matrix({"lib": ["1", "2"]})
    cells = [
        measured("g", {"lib": "1"}, locked={"lib": "1", "numpy": "1"}),
        measured("b", {"lib": "2"}, locked={"lib": "2", "numpy": "2"}),
    ]
    report = answer(made, cells, PROVENANCE, ["a notice"])
    assert report.findings
    assert report.series[0].transitions[0].moved
    assert from_json(Report, to_json(report)) == report


def test_a_cell_says_what_differs_from_the_one_before_it(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    made = matrix({"lib": ["1", "2", "3", "4"]})
    cells = [
        measured("g", {"lib": "1"}, locked={"lib": "1", "dep": "7"}),
        measured("?", {"lib": "2"}),  # never locked: not what others are compared with
        measured("b", {"lib": "3"}, locked={"lib": "3", "dep": "7", "new": "1"}),
        measured("b", {"lib": "4"}, locked={"lib": "4", "dep": "7", "new": "1"}),
    ]
    report = answer(made, cells, PROVENANCE)
    assert [row.neighbours for row in report.cells] == [
        {},
        {},
        {
            "lib": Neighbour(
                cell="s-3.11-1",
                moved=(Moved(name="lib", before="1", after="3"), Moved(name="new", before=None, after="1")),
            )
        },
        {"lib": Neighbour(cell="s-3.11-3", moved=(Moved(name="lib", before="3", after="4"),))},
    ]
    # What is installed is told of both sides of a change and of the newest cell, and of no other.
    assert report.environments == {
        "s-3.11-4": (Pin(name="dep", version="7"), Pin(name="lib", version="4"), Pin(name="new", version="1")),
        "s-3.11-1": (Pin(name="dep", version="7"), Pin(name="lib", version="1")),
        "s-3.11-3": (Pin(name="dep", version="7"), Pin(name="lib", version="3"), Pin(name="new", version="1")),
    }


def test_of_several_equal_failures_the_first_keeps_its_log(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    made = matrix({"lib": ["1", "2", "3"]})
    cells = [measured("b", {"lib": version}) for version in ("1", "2", "3")]
    for number, cell in enumerate(cells):
        (issue,) = cell.judgements
        said = structs.replace(
            cell.judgements[issue], signature="one" if number < 2 else "other", message=f"a\n{number}"
        )
        cells[number] = replace(cell, judgements={issue: said})
    (series,) = answer(made, cells, PROVENANCE).series
    assert [point.log for point in series.points] == [("a", "0"), (), ("a", "2")]
