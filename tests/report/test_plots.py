"""What plots show, as values, and as SVG and PNG."""

from __future__ import annotations

import math
import struct
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from msgspec import structs

from orchestrator.model import Kind, Outcome, Point, Provenance, Report, Series, Threshold, Topic, Verdict
from orchestrator.pinpoint import state, transitions
from orchestrator.report.plots import available, plots, png, svg
from orchestrator.report.plots.markup import FONTS, STYLE
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.report.plots import Plot

TORCH = ("2.0.1", "2.1.0", "2.1.2", "2.2.0", "2.10.0")
OUTCOMES = {"g": Outcome.PASS, "b": Outcome.FAIL, "c": Outcome.CRASH, "a": Outcome.ABSENT, "?": Outcome.NOT_RUN}
HOSTILE = (
    "_nolegend_ <script>alert(1)</script> ]]> &amp; $\\frac{1}{0}$ ' \" \x1b[31m\x00 \u202eevil 漢字 \U0001f600 "
    "\u28ff \ufffe\uffff \ud800 ##[error]\r\nsecond line <!-- ?> <?x"
)


def series(letters: str, values: Sequence[float | None], metric: str = "mae", **fixed: str) -> Series:
    versions = TORCH if len(letters) == len(TORCH) else [f"2.{minor}" for minor in range(len(letters))]
    points = tuple(
        Point(
            version=Version(version),
            cell=version,
            outcome=OUTCOMES[letter],
            verdict=OUTCOMES[letter].verdict,
            metrics={} if value is None else {metric: value},
        )
        for version, letter, value in zip(versions, letters, values, strict=True)
    )
    return Series(
        issue="torch-no-grad",
        stack="torch-cpu",
        axis="torch",
        fixed=fixed,
        points=points,
        transitions=transitions(points),
        state=state(points),
    )


def report_of(*members: Series, threshold: Threshold | None = None, title: str = "Other results") -> Report:
    return Report(
        series=members,
        findings=(),
        cells=(),
        issues={one.issue: Topic(title=title, threshold=threshold) for one in members},
        stacks={},
        provenance=Provenance(tool="t", matrix="m"),
    )


def only(*members: Series, threshold: Threshold | None = None, title: str = "Other results") -> Plot:
    (plot,) = plots(report_of(*members, threshold=threshold, title=title))
    return plot


MAE = Threshold(metric="mae", above=1e-4)


@pytest.fixture
def fixed() -> Plot:
    return only(series("bgggg", [1.4759, 3.7346e-06, 3.7e-06, 3.7e-06, 4e-06]), threshold=MAE)


def parsed(drawn: str) -> ET.Element:
    return ET.fromstring(drawn)  # noqa: S314 - that it is well-formed is what is tested


def texts(drawn: str) -> list[str]:
    return [element.text or "" for element in parsed(drawn).iter("{http://www.w3.org/2000/svg}text")]


def pointed(drawn: str) -> list[str]:
    uses = parsed(drawn).iter("{http://www.w3.org/2000/svg}use")
    return [title.text or "" for use in uses for title in use]


def test_a_real_report_has_a_plot_per_metric_and_stack(report: Report) -> None:
    found = plots(report)
    assert [(plot.issue, plot.metric, plot.stack, plot.axis) for plot in found] == [
        ("torch-dot-half", "mae", "torch-cpu", "torch"),
        ("torch-no-grad", "mae", "torch-cpu", "torch"),
        ("torchao-aqt-matmul-values", "mae", "torchao-cpu", "torchao"),
    ]
    (line,) = found[1].lines
    # The crash of 2.1.0 recorded nothing: it is a gap, and bad nevertheless.
    assert [(str(one.version), one.value, one.verdict) for one in line.samples[:3]] == [
        ("2.0.1", 0.4312, Verdict.BAD),
        ("2.1.0", None, Verdict.BAD),
        ("2.1.2", 3.7346e-06, Verdict.GOOD),
    ]


def test_the_sentence_says_what_is_seen(fixed: Plot) -> None:
    assert fixed.title == "mae of torch-no-grad"
    assert fixed.alt == (
        "mae of torch-no-grad along torch in torch-cpu: 1.476 at 2.0.1, 3.735e-06 at 2.1.0 … 4e-06 at 2.10.0; "
        "threshold 0.0001; introduced ≤ 2.0.1 (since the earliest version tested); fixed in 2.1.0 (after 2.0.1)"
    )


def test_versions_are_in_their_own_order_over_all_lines() -> None:
    short = series("gg", [1.0, 2.0], python="3.10")
    plot = only(short, series("ggggb", [1.0] * 5, python="3.11"))
    assert [str(version) for version in plot.versions] == ["2.0", "2.0.1", "2.1", "2.1.2", "2.2.0", "2.10.0"]


def test_equal_series_are_one_line_that_keeps_all_their_numbers() -> None:
    plot = only(
        series("bg", [1.0, math.nan], python="3.10"),
        series("bg", [1.5, math.nan], python="3.11"),
        series("bg", [1.0, 2.0], python="3.12"),
        series("gg", [0.5, 0.5], python="3.13"),
    )
    assert [line.label for line in plot.lines] == ["python 3.10, 3.11 and 3.12", "python 3.13"]
    first, second = plot.lines[0].samples
    assert (first.value, first.also) == (1.0, (1.5,))
    assert second.value is not None
    assert math.isnan(second.value)
    assert second.also == (2.0,)
    assert "bar: the range of what a line stands for" in texts(svg(plot))


def test_a_combination_without_the_number_is_no_part_of_the_line() -> None:
    plot = only(series("gg", [1.0, 1.0], python="3.10"), series("gg", [None, None], python="3.11"))
    assert [line.label for line in plot.lines] == ["python 3.10"]
    assert plot.where == "torch-cpu / torch, python 3.10"


def test_the_metric_that_decides_comes_first_and_has_the_threshold() -> None:
    points = series("gg", [1.0, 1.0]).points
    both = replace(
        series("gg", [1.0, 1.0]),
        points=tuple(structs.replace(p, metrics={"a": 1.0, "ratio": 2.0}) for p in points),
    )
    found = plots(report_of(both, threshold=Threshold(metric="ratio", above=1.5)))
    assert [(plot.metric, plot.threshold) for plot in found] == [("ratio", 1.5), ("a", None)]


def test_changes_say_of_which_lines_they_are_true() -> None:
    plot = only(
        series("gg?b", [1.0, 1.0, None, 5.0], python="3.10"),
        series("gggb", [1.0, 1.0, 1.0, 5.0], python="3.11"),
        series("gg?b", [1.0, 1.0, 1.0, 5.0], python="3.12"),
        series("bbbb", [5.0] * 4, python="3.13"),
    )
    told = [(c.kind, str(c.after), str(c.version), len(c.untested), c.lines) for c in plot.changes]
    assert told == [
        (Kind.INTRODUCED, "None", "2.0", 0, (2,)),
        (Kind.INTRODUCED, "2.1", "2.3", 1, (0,)),
        (Kind.INTRODUCED, "2.2", "2.3", 0, (1,)),
    ]
    drawn = texts(svg(plot))
    for word in (
        "introduced ≤ 2.0 (python 3.13)",
        "introduced (python 3.10 and 3.12)",
        "introduced (python 3.11)",
        "the change lies in here",
    ):
        assert word in drawn


def test_a_change_that_is_true_of_all_lines_needs_no_name() -> None:
    drawn = texts(svg(only(series("gb", [1.0, 2.0], python="3.10"), series("gb", [2.0, 1.0], python="3.11"))))
    assert "introduced" in drawn


def test_a_report_without_numbers_has_no_plots() -> None:
    assert plots(report_of(series("gb", [None, None]))) == ()


def test_the_drawing_has_what_there_is_to_read(fixed: Plot) -> None:
    drawn = svg(fixed)
    assert {*TORCH, "0.0001", "threshold", "fixed", "introduced ≤ 2.0.1", "mae", "torch", "ok", "affected"} <= set(
        texts(drawn)
    )
    assert "mae of torch-no-grad" in texts(drawn)
    assert pointed(drawn) == [
        "2.1.0: 3.735e-06 (pass)",
        "2.1.2: 3.7e-06 (pass)",
        "2.2.0: 3.7e-06 (pass)",
        "2.10.0: 4e-06 (pass)",
        "2.0.1: 1.476 (fail)",
    ]
    root = parsed(drawn)
    assert root.get("aria-label") == fixed.alt
    assert root.get("role") == "img"


def test_verdicts_differ_in_shape_not_only_in_colour() -> None:
    root = parsed(svg(only(series("gb?", [1.0, 2.0, 3.0]))))
    shapes = {use.get("href") for use in root.iter("{http://www.w3.org/2000/svg}use") if len(use)}
    assert len(shapes) == 3


def test_numbers_that_no_scale_has_get_rows_of_their_own() -> None:
    values = [math.inf, math.nan, 1e-6, 1.0, 0.0]
    drawn = svg(only(series("bbggg", values)))
    assert {"inf", "nan", "0", "1e-06", "1"} <= set(texts(drawn))
    heights = {}
    for use in parsed(drawn).iter("{http://www.w3.org/2000/svg}use"):
        for title in use:
            heights[(title.text or "").split()[0]] = float(use.get("y", ""))
    # SVG counts from above.
    assert heights["2.1.0:"] < heights["2.0.1:"] < heights["2.2.0:"] < heights["2.1.2:"] < heights["2.10.0:"]


def test_versions_without_a_number_are_shown_as_such() -> None:
    drawn = svg(only(series("gc?ag", [1.0, None, None, None, 1.0])))
    assert "no value" in texts(drawn)
    assert {"2.1.0: no value (crash)", "2.1.2: no value (not run)", "2.2.0: no value (absent)"} <= set(
        pointed(drawn)
    )


def test_a_plot_without_a_finite_number_says_so() -> None:
    assert "no finite number" in texts(svg(only(series("bb", [math.nan, math.nan]))))


def test_eight_lines_are_drawn_and_the_others_counted() -> None:
    plot = only(*(series("gb", [1.0, 2.0 + n], python=f"3.{n}") for n in range(11)))
    assert len(plot.lines) == 1  # equal in every outcome
    plot = only(*(series("g" * n + "b" * (12 - n), [1.0 + n] * 12, python=f"3.{n}") for n in range(1, 12)))
    drawn = texts(svg(plot))
    assert "python 3.8" in drawn
    assert "python 3.9" not in drawn
    assert "and 3 more" in drawn
    assert plot.alt.endswith("; and 3 more")


@pytest.mark.parametrize("count", [1, 6, 20, 40, 60])
def test_a_drawing_stays_small(count: int) -> None:
    letters = "".join("gb?"[n // 7 % 3] for n in range(count))
    drawn = svg(only(series(letters, [n * 0.37 for n in range(count)]), threshold=MAE))
    assert len(drawn) < 40_000
    assert "2.0" in texts(drawn)
    assert f"2.{count - 1}" in texts(drawn)


def test_the_same_plot_is_the_same_bytes_in_any_thread(fixed: Plot) -> None:
    drawn: list[tuple[str, bytes]] = []
    threads = [threading.Thread(target=lambda: drawn.append((svg(fixed), png(fixed)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drawn == [(svg(fixed), png(fixed))] * 3


def test_ids_of_different_plots_differ_and_every_reference_is_there(fixed: Plot) -> None:
    seen: set[str] = set()
    for plot in (fixed, only(series("gb", [1.0, 2.0]))):
        root = parsed(svg(plot))
        ids = [element.get("id", "") for element in root.iter() if "id" in element.attrib]
        uses = {element.get("href", "")[1:] for element in root.iter() if "href" in element.attrib}
        assert len(set(ids)) == len(ids)
        assert uses <= set(ids)
        assert not seen.intersection(ids)
        seen.update(ids)


def test_a_page_with_a_content_policy_needs_to_allow_one_style_only(fixed: Plot) -> None:
    root = parsed(svg(fixed))
    assert not [element for element in root.iter() if "style" in element.attrib]
    styles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}style")]
    assert styles == [STYLE]
    assert root.get("font-family") == FONTS


def test_every_colour_has_a_dark_counterpart(fixed: Plot) -> None:
    for element in parsed(svg(fixed)).iter():
        painted = {name for name in ("fill", "stroke") if element.get(name, "none") != "none"}
        classes = [name for name in element.get("class", "").split() if name != "metric-plot"]
        assert len(classes) == len(painted)
        for name in classes:
            assert f".{name}{{" in STYLE


def test_a_picture_has_the_size_that_its_resolution_gives(fixed: Plot) -> None:
    sizes = []
    for dpi in (72, 144):
        drawn = png(fixed, dpi=dpi)
        assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
        sizes.append(struct.unpack(">II", drawn[16:24]))
    assert sizes[0][0] == 540
    assert sizes[1][0] == 1080
    assert abs(sizes[1][1] - 2 * sizes[0][1]) <= 2


@pytest.fixture
def evil() -> Plot:
    members = [
        replace(series("bgggg", [1.0, 2.0, 3.0, 4.0, 5.0], metric=HOSTILE, python=HOSTILE), issue=HOSTILE * 100),
        replace(series("bbggg", [1.0, 2.0, 3.0, 4.0, 5.0], metric=HOSTILE, python="$x$"), issue=HOSTILE * 100),
    ]
    return only(*members, threshold=Threshold(metric=HOSTILE, above=2.5), title=HOSTILE * 100)


def test_hostile_text_is_text(evil: Plot) -> None:
    drawn = svg(evil)
    root = parsed(drawn)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {
        "svg", "title", "desc", "style", "defs", "path", "use", "text"
    }  # fmt: skip
    shown = texts(drawn)
    assert any("<script>" in text and text.endswith("…") for text in shown)
    assert "$x$" in "".join(shown)
    assert "python $x$" in shown
    assert any("漢字" in text for text in shown)
    assert drawn.replace("\n", "").isprintable()
    assert len(drawn) < 60_000
    assert max(map(len, shown)) < 200
    assert len(evil.alt) < 2000


def test_hostile_text_is_a_picture_too(evil: Plot) -> None:
    assert png(evil).startswith(b"\x89PNG")


def test_the_users_settings_change_nothing(fixed: Plot, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    before = svg(fixed)
    for name, value in {"axes.grid": True, "svg.fonttype": "path", "lines.marker": "s", "font.size": 30.0}.items():
        monkeypatch.setitem(mpl.rcParams, name, value)
    assert svg(fixed) == before
    assert mpl.rcParams["svg.fonttype"] == "path"


def test_drawing_needs_matplotlib_and_what_to_draw_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert available()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not available()
    assert plots(report_of(series("gb", [1.0, 2.0])))


def test_nothing_interactive_is_loaded(fixed: Plot) -> None:
    svg(fixed)
    png(fixed)
    assert "matplotlib.pyplot" not in sys.modules
