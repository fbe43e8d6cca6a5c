from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.report.clean import cleaned
from orchestrator.report.html import figures as made
from orchestrator.report.plots import plots

if TYPE_CHECKING:
    import pytest

    from orchestrator.model import Report


def figures(report: Report) -> made.Figures:
    return made.figures(cleaned(report))


def test_each_plot_has_its_numbers_beside_it(report: Report) -> None:
    found = figures(report)
    assert found.drawn
    assert [one.title for one in found.shown] == [plot.title for plot in plots(report)]
    one = next(one for one in found.shown if one.issue == "torch-no-grad")
    assert one.image.startswith("data:image/svg+xml;base64,")
    assert one.threshold == "0.0001"
    numbers = {line.version: line.values for line in one.lines}
    assert numbers["2.0.1"] == ("0.4312",)
    assert numbers["2.1.0"] == ("",)  # it crashed
    assert numbers["2.2.0"] == ("3.735e-06",)


def test_without_the_library_the_numbers_remain(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "available", lambda: False)
    found = figures(report)
    assert not found.drawn
    assert {one.image for one in found.shown} == {""}
    assert all(one.lines for one in found.shown)


def test_what_is_too_much_is_named_and_counted(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    total = len(figures(report).shown)
    monkeypatch.setattr(made, "MOST", 1)
    found = figures(report)
    assert len(found.shown) == 1
    assert found.others == len(found.left_out) == total - 1 > 0
    assert found.left_out[0].startswith("mae of torch-no-grad")


def test_plots_that_find_no_room_have_their_numbers_only(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [len(one.image) for one in figures(report).shown]
    monkeypatch.setattr(made, "BUDGET", sizes[0] + sizes[2])
    found = [len(one.image) for one in figures(report).shown]
    assert found[0] == sizes[0]
    assert sum(found) <= made.BUDGET
    assert 0 in found


def test_many_combinations_are_cut_and_counted(report: Report) -> None:
    series = next(one for one in report.series if one.issue == "torch-no-grad")
    many = tuple(
        replace(series, fixed={"python": f"3.{n}"}, points=series.points[n:]) for n in range(len(series.points))
    )
    extra = replace(series, fixed={"python": "3.99"}, points=series.points[:1])
    (found,) = figures(replace(report, series=(*many, extra))).shown
    assert len(found.labels) == made.COLUMNS
    assert {len(line.values) for line in found.lines} == {made.COLUMNS}
    assert found.more == 1
