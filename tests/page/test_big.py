"""A page of many series, most of them of one issue: laid out in parts, and as usable as a small one."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from msgspec import structs
from playwright.sync_api import expect

from orchestrator.model import Outcome, Verdict
from orchestrator.pinpoint import state, transitions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from orchestrator.model import CellRow, Point, Report, Series

COMBINATIONS = 160


def judged(point: Point, number: int, *, bad: bool) -> Point:
    outcome, verdict = (Outcome.FAIL, Verdict.BAD) if bad else (Outcome.PASS, Verdict.GOOD)
    return structs.replace(
        point,
        cell=f"{point.cell}-{number}",
        outcome=outcome,
        verdict=verdict,
        signature="RuntimeError: no" if bad else None,
        log=(),
    )


def patterned(series: Series, number: int) -> Series:
    """Return a series that fails where the binary digits of a number say so."""
    points = tuple(
        judged(point, number, bad=bool(number >> place & 1)) for place, point in enumerate(series.points)
    )
    fixed = {"python": f"3.{number}"}
    return replace(series, fixed=fixed, points=points, transitions=transitions(points), state=state(points))


@pytest.fixture
def big(visit: Callable[..., Page], written: Callable[[str, Report], Path], report: Report) -> Page:
    chosen = [
        one
        for one in report.series
        if one.issue in ("torch-dot-half", "torch-no-grad") and one.stack == "torch-cpu"
    ]
    many = tuple(patterned(one, number) for one in chosen for number in range(1, COMBINATIONS + 1))
    started = report.provenance.started
    assert started is not None

    def copied(row: CellRow) -> CellRow:
        assert row.origin is not None
        old = row.cell.endswith("torch2.1.0")
        since = started - timedelta(days=40) if old else started
        return replace(row, cell=f"{row.cell}-1", origin=replace(row.origin, started=since))

    cells = tuple(copied(row) for row in report.cells if row.stack == "torch-cpu")
    issues = {one.issue: report.issues[one.issue] for one in chosen}
    shown = replace(report, series=many, cells=cells, issues=issues, findings=())
    return visit(written("big", shown))


def test_it_is_laid_out_in_parts_with_the_issue_above_its_rows(big: Page) -> None:
    assert big.locator(".grid").count() == 7
    expect(big.locator(".m caption").nth(6)).to_have_text("torch-cpu along torch, rows 301 to 320 of 320")
    assert (big.locator(".m .h").first.text_content() or "").strip() == "torch-dot-half"
    assert big.locator(".m tbody tr:not(.h)").count() == 2 * COMBINATIONS
    assert big.locator(".grid").first.evaluate("one => getComputedStyle(one).contentVisibility") == "auto"


def test_each_place_has_its_word_for_a_screen_reader(big: Page) -> None:
    first = big.locator(".m").first.aria_snapshot()
    row = re.search(r'- row "3\.3|- row "python 3\.3 .*', first)
    assert row is not None
    assert row.group().startswith('- row "python 3.3 affected affected ok')


def test_a_border_says_where_the_state_changes(big: Page) -> None:
    border = big.locator(".m td.k").first
    assert border.get_attribute("title") is None
    border.hover()
    said = (border.get_attribute("title") or "").split("\n")
    assert said == ["torch 2.1.0: ok", "last bad 2.0.1, first good 2.1.0"]


def test_rare_answers_are_folded_and_filtered_with_the_others(big: Page) -> None:
    assert big.locator(".a tbody").count() == 2 * 21
    expect(big.locator(".folded").first).to_contain_text("more answers, each of fewer combinations")
    big.locator("#text").fill("torch-no-grad")
    assert big.locator(".a tbody:visible").count() == 21
    left = big.locator(".m tbody:not([hidden]) .h").all_text_contents()
    assert {text.strip() for text in left} == {"torch-no-grad"}
    expect(big.locator("#count")).to_have_text("1 of 2 issues")


def test_arrow_keys_go_from_one_issue_to_the_next(big: Page) -> None:
    fourth = big.locator(".m").nth(3)  # where the second issue begins, after ten rows of the first
    fourth.locator('td[tabindex="0"]').focus()
    for _ in range(10):
        big.keyboard.press("ArrowDown")
    assert big.evaluate("document.activeElement.closest('tbody').rows[0].innerText.trim()") == "torch-no-grad"
    big.keyboard.press("Enter")
    expect(big.get_by_role("dialog", name="torch-no-grad at 2.0.1")).to_be_visible()
    assert "stands for" in big.locator("#panel dl").inner_text()


def test_an_old_result_says_so(big: Page) -> None:
    big.locator(".m td.s").first.click()
    measured = big.locator("#panel dt", has_text="measured").locator("+ dd")
    expect(measured).to_contain_text("more than 30 days before this run")
    expect(big.locator("#legend")).to_contain_text("dimmed")


def test_a_link_to_a_cell_far_down_opens_it(big: Page) -> None:
    last = big.locator(".m tbody tr").last.locator("td").last
    last.click()
    big.reload()
    expect(big.get_by_role("dialog", name="torch-no-grad at 2.8.0")).to_be_visible()
    big.keyboard.press("Escape")
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()


def test_an_audit_finds_nothing(big: Page) -> None:
    found = Axe().run(big).response["violations"]
    assert [(one["id"], one["impact"], len(one["nodes"])) for one in found] == []
