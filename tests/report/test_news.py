from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from orchestrator.model import Comparison, Difference, News, Outcome, Provenance, Shift
from orchestrator.report import news, render
from orchestrator.report.clean import cleaned
from orchestrator.versions import Version

if TYPE_CHECKING:
    from orchestrator.model import Report

OLD = Provenance(tool="t", matrix="m", started=datetime(2026, 11, 20, 9, 30, tzinfo=UTC))
NEW = replace(OLD, started=datetime(2026, 11, 21, 9, 30, tzinfo=UTC))


def difference(kind: News, **changes: object) -> Difference:
    made = Difference(
        kind=kind,
        issue="dot",
        stack="cpu",
        axis="torch",
        fixed={},
        versions=(Version("2.1"),),
        before=Outcome.PASS,
        after=Outcome.FAIL,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # of mixed types


def comparison(*differences: Difference, shifts: tuple[Shift, ...] = ()) -> Comparison:
    return Comparison(old=OLD, new=NEW, compared=9, differences=differences, shifts=shifts)


def plain(_role: str, text: str) -> str:
    return text


def test_the_headline_counts_by_kind() -> None:
    found = comparison(difference(News.AFFECTED), difference(News.FIXED), difference(News.FIXED))
    assert news.headline(found) == "since the run of 2026-11-20 09:30 UTC: 1 newly affected, 2 newly fixed"
    assert news.headline(comparison()) == "since the run of 2026-11-20 09:30 UTC: nothing changed"
    undated = replace(comparison(), old=replace(OLD, started=None))
    assert news.headline(undated) == "since an earlier run: nothing changed"


def test_each_difference_is_a_sentence() -> None:
    driver = Shift(what="driver", before="i915", after=None, cells=3)
    lock = Shift(what="lock", before=None, after=None, cells=1)
    found = comparison(
        difference(News.AFFECTED, fixed={"python": "3.11"}, besides=("driver", "lock")),
        difference(News.FIXED, before=None, after=Outcome.PASS),
        shifts=(driver, lock),
    )
    assert [line.text for line in news.lines(found)] == [
        "newly affected: dot in cpu / torch, python 3.11 at 2.1: fail, pass before; "
        "also different there: driver and locked distributions",
        "newly fixed: dot in cpu / torch at 2.1: pass, not known before",
        "measured with another driver than then, in 3 cells: i915 → none",
        "measured with another locked distributions than then, in 1 cell",
    ]


def test_no_more_than_people_read() -> None:
    found = list(news.lines(comparison(*[difference(News.AFFECTED)] * 50)))
    assert len(found) == 41
    assert found[-1].text == "newly affected: 10 more"


def test_text_fits_and_markdown_is_inert() -> None:
    hostile = cleaned(comparison(difference(News.AFFECTED, issue="@everyone <b>|` " + "x" * 300)))
    text = news.text(hostile, 80, plain)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("since the run of")
    shown = news.markdown(hostile)
    assert "<b>" not in shown
    assert "@everyone" not in shown
    assert shown.count("\n") == 3


def test_a_report_begins_with_what_changed(report: Report) -> None:
    since = comparison(difference(News.AFFECTED))
    for format_ in ("text", "markdown"):
        shown = render(replace(report, since=since), format_)
        assert "since the run of 2026-11-20 09:30 UTC: 1 newly affected" in shown.splitlines()[0]
        assert "since the run of" not in render(report, format_)
