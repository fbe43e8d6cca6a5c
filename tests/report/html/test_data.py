"""The data of a page, decoded by a second reader: everything that a report has of its points is in it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from orchestrator.model import Moved, Neighbour, Origin, Outcome, Point, Verdict
from orchestrator.pinpoint import collapse
from orchestrator.report import words
from orchestrator.report.clean import cleaned
from orchestrator.report.html.cells import DIGEST, MOVED
from orchestrator.report.html.data import _number, _seconds, data
from orchestrator.report.html.layout import layout
from orchestrator.report.html.logs import LEFT_OUT
from orchestrator.versions import Version

if TYPE_CHECKING:
    from orchestrator.model import CellRow, Report

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def spread(coded: list[Any]) -> list[Any]:
    return [value for value, count in zip(coded[::2], coded[1::2], strict=True) for _ in range(count)]


def front(coded: list[Any]) -> list[str]:
    texts, last = [], ""
    for shared, rest in zip(coded[::2], coded[1::2], strict=True):
        last = last[:shared] + rest
        texts.append(last)
    return texts


def decoded(report: Report) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return what the data says of each point, by issue, cell and axis."""
    document = json.loads(json.dumps(data(layout(report), [], [])))
    cells = document["cells"]
    ids = front(cells["ids"])
    found = {}
    for row in document["rows"]:
        whole = [*row, *["", {}, [], {}, []][len(row) - 5 :]]
        where, flags, also, along, kinds, seconds, logs, columns, counts, metrics = whole
        issue, _, axis, grid = document["places"][where]
        for place, (cell, kind) in enumerate(zip(document["along"][along], spread(kinds), strict=True)):
            outcome, verdict, signature = document["kinds"][kind]
            log = logs.get(str(place))
            steps = [DIGITS.index(letter) for letter in seconds[2 * place : 2 * place + 2]]
            power = steps[0] * 62 + steps[1]
            back, lists, more = (spread(one)[cell] for one in cells["near"][document["axes"][axis]])
            found[document["issues"][issue][0], ids[cell], document["axes"][axis]] = {
                "flags": flags,
                "also": document["texts"][also],
                "version": None if grid < 0 else document["grids"][grid][columns[place] if columns else place],
                "outcome": outcome,
                "verdict": verdict,
                "signature": document["texts"][signature],
                "seconds": 0.001 * 1.005 ** (power - 1) if power else None,
                "log": None
                if log is None
                else log
                if log == LEFT_OUT
                else [document["lines"][line] for line in document["logs"][log]],
                "counts": counts.get(str(place)),
                "metrics": {document["names"][name]: values[place] for name, values in metrics},
                "versions": {
                    name: document["texts"][spread(column)[cell]]
                    for name, column in zip(cells["packages"], cells["versions"], strict=True)
                },
                "python": document["texts"][spread(cells["python"])[cell]],
                "reason": document["texts"][cells["reason"].get(str(cell), 0)],
                "lock": cells["lock"][DIGEST * cell : DIGEST * (cell + 1)].strip(),
                "minute": None if cells["started"][cell] < 0 else cells["since"] + cells["started"][cell],
                "took": cells["took"][cell],
                "on": None
                if spread(cells["on"])[cell] < 0
                else [document["texts"][one] for one in cells["settings"][spread(cells["on"])[cell]]],
                "before": ids[cell - back] if back else None,
                "moved": [tuple(cells["moves"][one]) for one in cells["moved"][lists]],
                "more": more,
            }
    return found


def check_cell(told: dict[str, Any], row: CellRow, axis: str) -> None:
    assert {name: version for name, version in told["versions"].items() if version} == dict(row.versions)
    assert told["python"] == row.python
    assert told["reason"] == (row.reason or "")
    assert (row.lock or "").startswith(told["lock"])
    assert bool(told["lock"]) == bool(row.lock)
    if row.origin is None:
        assert told["minute"] is told["on"] is None
    else:
        assert told["minute"] == int(row.origin.started.timestamp()) // 60
        assert abs(told["took"] - row.origin.duration) <= 0.5
        on = row.origin.fingerprint
        assert on is not None
        libraries = ", ".join(f"{name} {version}" for name, version in sorted(on.runtime.items()))
        host = [on.device, on.driver or "", on.system, on.firmware or "", libraries]
        assert told["on"] == [row.origin.runtime, row.origin.base, *host]
    neighbour = row.neighbours.get(axis)
    assert told["before"] == (neighbour.cell if neighbour else None)
    moved = neighbour.moved if neighbour else ()
    assert told["moved"] == [(one.name, one.before, one.after) for one in moved][:MOVED]
    assert told["more"] == max(0, len(moved) - MOVED)


def test_everything_is_in_it(report: Report) -> None:
    report = cleaned(report)
    found = decoded(report)
    rows = {row.cell: row for row in report.cells}
    seen = 0
    for group in collapse(report.series):
        series = group.shown
        for point in series.points:
            told = found[series.issue, point.cell, series.axis]
            seen += 1
            assert told["version"] in (None, str(point.version))
            assert told["outcome"] == words.outcome(point.outcome)
            assert told["verdict"] == point.verdict.value
            assert told["signature"] == (point.signature or "")
            assert told["log"] == (list(point.log) or None)
            assert told["metrics"].keys() >= point.metrics.keys()
            for name, value in point.metrics.items():
                assert told["metrics"][name] == pytest.approx(value, rel=1e-5)
            assert told["seconds"] == (None if point.duration is None else pytest.approx(point.duration, rel=0.01))
            assert told["counts"] is None
            assert told["also"] == words.combinations(group)
            assert told["flags"] == bool(series.transitions) + 2 * (series.state.value == "affected")
            check_cell(told, rows[point.cell], series.axis)
    assert seen == len(found)


def test_places_without_a_cell_keep_the_others_in_their_columns(report: Report) -> None:
    first, *others = (one for one in report.series if one.stack == "torch-cpu")
    thinned = replace(first, points=first.points[::2])
    found = decoded(cleaned(replace(report, series=(thinned, *others))))
    for point in thinned.points:
        assert found[first.issue, point.cell, "torch"]["version"] == str(point.version)


def test_runs_are_told_where_there_were_several(report: Report) -> None:
    series = next(one for one in report.series if one.issue == "torch-dot-half")
    points = (structs.replace(series.points[0], bad=3, good=1), *series.points[1:])
    found = decoded(cleaned(replace(report, series=(replace(series, points=points),))))
    told = [found[series.issue, point.cell, "torch"]["counts"] for point in points]
    assert told == [[3, 1], *[None] * (len(points) - 1)]


def test_a_long_list_of_what_moved_is_cut_and_counted(report: Report) -> None:
    moved = tuple(Moved(name=f"part{number}", before=None, after="1") for number in range(MOVED + 7))

    def crowded(row: CellRow) -> CellRow:
        return replace(
            row, neighbours={axis: Neighbour(cell=one.cell, moved=moved) for axis, one in row.neighbours.items()}
        )

    found = decoded(cleaned(replace(report, cells=tuple(map(crowded, report.cells)))))
    assert {told["more"] for told in found.values()} == {0, 7}
    assert max(len(told["moved"]) for told in found.values()) == MOVED


def test_firmware_and_libraries_of_a_gpu_are_told(report: Report) -> None:
    """They are of the device that a cell computed on, so they stand with it."""
    cells = []
    for row in report.cells:
        if row.origin is not None and row.origin.fingerprint is not None:
            on = replace(row.origin.fingerprint, firmware="DG2_1.3", runtime={"libze1": "1.20", "igc": "2.5"})
            cells.append(replace(row, origin=replace(row.origin, fingerprint=on)))
    rows = {row.cell: row for row in cells}
    found = decoded(replace(report, cells=(*cells, *(row for row in report.cells if row.cell not in rows))))
    told = [one["on"] for (_, cell, _), one in found.items() if cell in rows]
    assert {tuple(one[-2:]) for one in told} == {("DG2_1.3", "igc 2.5, libze1 1.20")}


def test_what_an_older_version_measured_has_no_fingerprint(report: Report) -> None:
    def aged(row: CellRow) -> CellRow:
        origin: Origin | None = row.origin
        return replace(row, origin=replace(origin, fingerprint=None)) if origin else row

    found = decoded(cleaned(replace(report, cells=tuple(map(aged, report.cells)))))
    measured = [told["on"] for told in found.values() if told["on"]]
    assert measured
    assert all(on[2:] == [""] * 5 for on in measured)


@given(st.floats(min_value=0.001, max_value=200_000))
def test_seconds_are_told_to_half_a_percent(duration: float) -> None:
    point = Point(version=Version("1"), cell="c", outcome=Outcome.PASS, verdict=Verdict.GOOD, duration=duration)
    high, low = (DIGITS.index(letter) for letter in _seconds(point))
    assert 0.001 * 1.005 ** (62 * high + low - 1) == pytest.approx(duration, rel=0.003)


@pytest.mark.parametrize("duration", [0.0, 1e-9, 1e9])
def test_seconds_that_do_not_fit_are_the_nearest(duration: float) -> None:
    point = Point(version=Version("1"), cell="c", outcome=Outcome.PASS, verdict=Verdict.GOOD, duration=duration)
    assert _seconds(point) == ("ZZ" if duration > 1 else "01")
    assert _seconds(structs.replace(point, duration=None)) == "00"


@given(st.floats())
def test_numbers_can_be_written_as_json(value: float) -> None:
    told = json.loads(json.dumps(_number(value), allow_nan=False))
    if math.isfinite(value):
        assert told == pytest.approx(value, rel=1e-5)
    else:
        assert told in ("NaN", "∞", "-∞")
