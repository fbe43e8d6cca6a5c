"""The page as people read it: without scripts, on paper, on a small screen, in the dark, with a screen reader."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from orchestrator.pinpoint import collapse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from orchestrator.model import CellRow, Report

SMALL = {"width": 390, "height": 844}


@pytest.fixture
def plain(visit: Callable[..., Page], page_file: Path) -> Page:
    return visit(page_file, java_script_enabled=False)


def test_without_scripts_all_of_it_can_be_read(plain: Page, report: Report) -> None:
    assert plain.locator("h1").inner_text() == "2 unexpected results"
    answers = plain.locator(".a tbody").all_inner_texts()
    assert len(answers) == len(collapse(report.series))
    assert any("2.2.0 (after 2.1.2)" in text for text in answers)
    grid = plain.locator(".m").first.inner_text()
    assert "2.0.1" in grid
    changes = [transition for group in collapse(report.series) for transition in group.shown.transitions]
    assert plain.locator(".exhibit").count() == len(changes)
    assert "until then" in plain.locator(".exhibit").nth(1).inner_text()
    assert "No space left on device" in plain.locator("#unknown").inner_text()


def test_without_scripts_each_place_has_its_word_and_its_headers(plain: Page) -> None:
    table = plain.locator(".m").first
    row = table.locator("tbody tr").nth(1)
    words = row.locator("td").all_text_contents()
    assert [word.strip() for word in words] == ["affected"] * 3 + ["ok"] * 5
    assert row.locator("th[scope=row]").count() == 1
    assert table.locator("thead th[scope=col]").count() == 8
    assert all(plain.locator("table").nth(n).locator("caption").count() == 1 for n in range(4))
    border = row.locator("td.k")
    assert border.get_attribute("title") == "last bad 2.1.2, first good 2.2.0"


def test_without_scripts_no_control_is_dead(plain: Page) -> None:
    assert (
        plain.locator("form:visible, button:visible, input:visible, select:visible, dialog:visible").count() == 0
    )
    expect(plain.locator("#keys")).to_be_hidden()


def test_without_scripts_a_log_unfolds(plain: Page) -> None:
    plain.locator(".exhibit summary").first.click()
    expect(plain.locator(".exhibit pre").first).to_contain_text("not implemented for 'Half'")


def aged(row: CellRow) -> CellRow:
    """Return a cell whose results are dimmed."""
    if row.origin is None:
        return row
    return replace(row, origin=replace(row.origin, started=row.origin.started - timedelta(days=100)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", ["page", "panel", "filtered", "small", "plain", "old"])
def test_an_audit_finds_nothing(
    visit: Callable[..., Page],
    page_file: Path,
    written: Callable[[str, Report], Path],
    report: Report,
    scheme: str,
    where: str,
) -> None:
    if where == "old":
        page_file = written("old", replace(report, cells=tuple(map(aged, report.cells))))
    size = {"viewport": SMALL} if where == "small" else {}
    page = visit(page_file, color_scheme=scheme, reduced_motion="reduce", **size)
    if where == "panel":
        page.locator(".m td.c").first.click()
    elif where == "filtered":
        page.locator("#text").fill("nothing has this")
    elif where == "plain":
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []


def luminance(page: Page) -> float:
    red, green, blue = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    return float(red + green + blue) / 765


def test_it_follows_the_scheme_of_the_reader(visit: Callable[..., Page], page_file: Path) -> None:
    assert luminance(visit(page_file, color_scheme="light")) > 0.9
    assert luminance(visit(page_file, color_scheme="dark")) < 0.2


def test_a_small_screen_scrolls_down_only(visit: Callable[..., Page], page_file: Path) -> None:
    page = visit(page_file, viewport=SMALL, reduced_motion="reduce")
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") == SMALL["width"]
    # The answer is not cut, and says what its columns are.
    assert page.locator(".a").evaluate("one => one.scrollWidth <= innerWidth")
    shown = page.locator(".a .in").first.evaluate("one => getComputedStyle(one, '::before').content")
    assert shown == '"introduced"'
    page.locator(".m td.c").first.click()
    box = page.locator("#panel").bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, SMALL["width"])


def test_a_wide_grid_keeps_its_head_and_first_column(visit: Callable[..., Page], page_file: Path) -> None:
    page = visit(page_file, viewport=SMALL)
    grid = page.locator(".grid").first
    head = grid.locator("tbody th").first
    before = head.bounding_box()
    grid.evaluate("one => { one.scrollLeft = 120 }")
    after = head.bounding_box()
    assert before is not None
    assert after is not None
    assert grid.evaluate("one => one.scrollLeft") == 120
    assert after["x"] == before["x"]
    assert grid.locator("thead th").first.evaluate("one => getComputedStyle(one).position") == "sticky"


def test_on_paper_there_are_no_controls_and_nothing_is_cut(visit: Callable[..., Page], page_file: Path) -> None:
    page = visit(page_file, color_scheme="dark")
    page.emulate_media(media="print")
    assert luminance(page) == 1.0
    assert page.locator("nav:visible, form:visible, button:visible, dialog:visible").count() == 0
    assert page.locator(".grid").first.evaluate("one => getComputedStyle(one).overflow") == "visible"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_the_first_stop_of_the_keyboard_skips_to_the_answer(page: Page) -> None:
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the answer")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answer-h"


def test_a_place_is_read_with_its_word_alone(page: Page) -> None:
    snapshot = page.locator(".m").first.aria_snapshot()
    assert 'gridcell "affected"' in snapshot
    assert "✗" not in snapshot
