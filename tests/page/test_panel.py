"""The panel of a cell: how it opens and closes, and what it says."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from orchestrator.model import Report


def place(page: Page, issue: str, version: str) -> Locator:
    """Return the place of an issue at a version, found as a reader does: by the headers."""
    table = page.locator(".m").filter(has=page.locator("th", has_text=issue)).first
    row = table.locator("tbody tr").filter(has=page.locator("th", has_text=issue)).first
    column = table.locator("thead th").all_inner_texts().index(version)
    return row.locator("td").nth(column)


def told(page: Page) -> dict[str, str]:
    labels = page.locator("#panel dt").all_inner_texts()
    return dict(zip(labels, page.locator("#panel dd").all_inner_texts(), strict=True))


def test_a_click_opens_a_cell_and_escape_closes_it(page: Page) -> None:
    cell = place(page, "torch-no-grad", "2.1.0")
    before = page.url
    cell.click()
    panel = page.get_by_role("dialog", name="torch-no-grad at 2.1.0")
    expect(panel).to_be_visible()
    expect(page).to_have_url(re.compile("cell=torch-cpu-py3.11-torch2.1.0&"))
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(cell).to_be_focused()
    expect(page).to_have_url(before)


def test_it_says_what_is_known_of_the_cell(page: Page, report: Report) -> None:
    place(page, "torch-no-grad", "2.1.0").click()
    facts = told(page)
    series = next(one for one in report.series if (one.issue, one.stack) == ("torch-no-grad", "torch-cpu"))
    point = next(one for one in series.points if str(one.version) == "2.1.0")
    row = next(one for one in report.cells if one.cell == point.cell)
    assert row.origin is not None
    assert row.origin.fingerprint is not None
    assert row.lock is not None
    assert facts["signature"] == point.signature
    assert facts["cell"] == point.cell
    assert facts["torch"] == "2.1.0"
    assert facts["python"] == "3.11"
    assert facts["device"] == row.origin.fingerprint.device
    assert facts["driver"] == "none"
    assert facts["system"] == row.origin.fingerprint.system
    assert facts["runtime"] == row.origin.runtime
    assert facts["base"] == row.origin.base
    assert facts["measured"].startswith(f"{row.origin.started:%Y-%m-%d %H:%M} UTC, in")
    assert row.lock.startswith(facts["lock"].removesuffix("…"))
    assert facts["took"].startswith(f"{point.duration:g} s")
    assert facts["runs"] == "1 bad"
    expect(page.locator("#panel .verdict")).to_have_text("affected: crash")
    assert page.locator("#panel pre").inner_text().rstrip("\n").split("\n") == list(point.log)
    before = row.neighbours["torch"]
    expect(page.locator("#panel h3", has_text="Differs from")).to_have_text(f"Differs from {before.cell}")
    listed = [tuple(one.split("\t")) for one in page.locator("#panel tbody tr").all_inner_texts()]
    gone = "not installed"
    assert listed == [(one.name, one.before or gone, one.after or gone) for one in before.moved]


def test_numbers_that_were_recorded_are_there(page: Page) -> None:
    place(page, "torch-no-grad", "2.1.2").click()
    assert told(page)["mae"] == "0.0000037346"


def test_the_log_of_an_equal_failure_stands_for_it(page: Page) -> None:
    place(page, "torch-dot-half", "2.1.2").click()
    expect(page.locator("#panel h3", has_text="Log")).to_have_text("Log, as at torch 2.0.1")
    assert "not implemented for 'Half'" in page.locator("#panel pre").inner_text()


def test_a_cell_that_passed_has_no_log(page: Page) -> None:
    place(page, "torch-dot-half", "2.2.0").click()
    expect(page.locator("#panel .verdict")).to_have_text("ok")
    assert page.locator("#panel pre").count() == 0


def test_an_unknown_cell_has_its_reason(page: Page) -> None:
    place(page, "torchao-aqt-matmul-values", "0.3.1").click()
    expect(page.locator("#panel .verdict")).to_have_text("unknown: incompatible")
    assert "do_bench" in told(page)["reason"]


def test_one_command_runs_it_again(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    place(page, "torch-no-grad", "2.1.0").click()
    command = "orchestrator repro torch-cpu-py3.11-torch2.1.0 --issue torch-no-grad --run"
    expect(page.locator("#panel .cmd")).to_have_text(command)
    page.get_by_role("button", name="Copy the command").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == command


NAME = 'it\'s $(a) "name"; `b` \\ *'


def test_the_command_is_quoted_for_a_shell(
    visit: Callable[..., Page], written: Callable[[str, Report], Path], report: Report
) -> None:
    series = next(one for one in report.series if one.issue == "torch-weights-only")
    renamed = replace(
        series, issue=NAME, points=tuple(structs.replace(p, cell=f"{p.cell} {NAME}") for p in series.points)
    )
    odd = replace(report, series=(renamed,), findings=(), issues={NAME: report.issues[series.issue]})
    page = visit(written("quoted", odd))
    page.locator(".m tbody td").last.click()
    command = shlex.split(page.locator("#panel .cmd").inner_text())
    assert command == ["orchestrator", "repro", renamed.points[-1].cell, "--issue", NAME, "--run"]


@pytest.mark.parametrize("key", ["Enter", " "])
def test_keys_open_a_cell(page: Page, key: str) -> None:
    page.locator('.m td[tabindex="0"]').first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press(key)
    expect(page.get_by_role("dialog", name="torch-dot-half at 2.0.1")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(place(page, "torch-dot-half", "2.0.1")).to_be_focused()


def test_one_place_of_each_grid_is_reached_by_tab(page: Page) -> None:
    assert page.locator(".m").count() == page.locator('.m td[tabindex="0"]').count() == 3
    page.locator(".m").first.locator('td[tabindex="0"]').focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('table') === document.querySelectorAll('.m')[1]")


@pytest.mark.parametrize(
    ("keys", "row", "column"),
    [
        (["ArrowRight"], 0, 1),
        (["ArrowRight", "ArrowRight", "ArrowLeft"], 0, 1),
        (["ArrowLeft"], 0, 0),
        (["ArrowDown", "ArrowDown", "ArrowUp"], 1, 0),
        (["ArrowUp"], 0, 0),
        (["End"], 0, 7),
        (["ArrowRight", "Home"], 0, 0),
        (["Control+End"], 3, 7),
        (["Control+End", "ArrowDown", "ArrowRight"], 3, 7),
        (["Control+End", "Control+Home"], 0, 0),
    ],
)
def test_arrow_keys_move_within_a_grid(page: Page, keys: list[str], row: int, column: int) -> None:
    table = page.locator(".m").first
    table.locator('td[tabindex="0"]').focus()
    for key in keys:
        page.keyboard.press(key)
    expect(table.locator("tbody tr").nth(row).locator("td").nth(column)).to_be_focused()
    assert table.locator("td[tabindex]").count() == 1


def test_arrow_keys_pass_over_rows_that_are_hidden(page: Page) -> None:
    page.locator("#changed").check()  # not the first row of the first grid, which is ok wherever it is known
    table = page.locator(".m").first
    table.locator('td[tabindex="0"]').focus()
    assert page.evaluate("document.activeElement.parentElement.cells[0].textContent") == "torch-dot-half"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.parentElement.cells[0].textContent") == "torch-dot-half"


def test_the_panel_goes_along_the_versions(page: Page) -> None:
    place(page, "torch-weights-only", "2.5.1").click()
    page.get_by_role("button", name="newer: torch 2.6.0").click()
    expect(page.get_by_role("dialog", name="torch-weights-only at 2.6.0")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("dialog", name="torch-weights-only at 2.8.0")).to_be_visible()
    assert page.locator("#newer").is_disabled()
    assert "torch2.8.0" in page.url
    page.keyboard.press("Escape")
    expect(place(page, "torch-weights-only", "2.8.0")).to_be_focused()


def test_the_address_opens_the_cell_again(visit: Callable[..., Page], page_file: Path, page: Page) -> None:
    page.locator("#component").select_option("torch")
    place(page, "torch-no-grad", "2.1.0").click()
    address = page.url
    page.reload()
    expect(page.get_by_role("dialog", name="torch-no-grad at 2.1.0")).to_be_visible()
    other = visit(page_file, "#" + address.partition("#")[2])
    expect(other.get_by_role("dialog", name="torch-no-grad at 2.1.0")).to_be_visible()
    assert other.locator("#component").input_value() == "torch"
    other.keyboard.press("Escape")
    expect(other).to_have_url(re.compile(r"#component=torch$"))


def test_back_closes_it_and_forward_opens_it(page: Page) -> None:
    place(page, "torch-no-grad", "2.1.0").click()
    page.go_back()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.go_forward()
    expect(page.get_by_role("dialog", name="torch-no-grad at 2.1.0")).to_be_visible()


def test_a_click_beside_it_closes_it(page: Page) -> None:
    place(page, "torch-no-grad", "2.1.0").click()
    page.mouse.click(100, 450)
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_the_rest_of_the_page_cannot_be_reached_while_it_is_open(page: Page) -> None:
    place(page, "torch-no-grad", "2.1.0").click()
    for _ in range(12):
        page.keyboard.press("Tab")
        outside = "document.activeElement !== document.body && !document.activeElement.closest('dialog')"
        assert not page.evaluate(outside)
