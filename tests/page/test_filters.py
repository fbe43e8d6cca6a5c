"""The filters, alone and together; the address has them, and reload, back and a shared link bring them again."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from orchestrator.model import State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from orchestrator.model import Report

CHOICES = {"changed": "1", "affected": "1", "component": "torch", "text": "half"}
COMBINATIONS = list(chain.from_iterable(combinations(CHOICES, size) for size in range(len(CHOICES) + 1)))


def matching(report: Report, chosen: dict[str, str]) -> set[str]:
    """Return the issues that filters leave, by what the filters are said to mean."""
    left = set()
    for series in report.series:
        seen = [series.issue, report.issues[series.issue].title, series.stack]
        seen += [point.signature or "" for point in series.points]
        fits = {
            "changed": bool(series.transitions),
            "affected": series.state is State.AFFECTED,
            "component": series.axis == "torch",
            "text": any("half" in one.lower() for one in seen),
        }
        if all(fits[name] for name in chosen):
            left.add(series.issue)
    return left


def choose(page: Page, names: tuple[str, ...]) -> None:
    for name in names:
        if name in ("changed", "affected"):
            page.locator(f"#{name}").check()
        elif name == "component":
            page.locator("#component").select_option("torch")
        else:
            page.locator("#text").fill("half")


def answered(page: Page) -> set[str]:
    return set(page.locator(".a tbody:visible .id").all_inner_texts())


@pytest.mark.parametrize("names", COMBINATIONS, ids=lambda names: "+".join(names) or "none")
def test_filters_leave_what_they_say_and_the_address_has_them(
    page: Page, report: Report, names: tuple[str, ...]
) -> None:
    chosen = {name: CHOICES[name] for name in names}
    wanted = matching(report, chosen)
    choose(page, names)
    for _ in range(2):
        assert answered(page) == wanted
        # Stacks without a device have no grid, so there may be fewer issues there.
        assert set(page.locator(".m tbody th:visible").all_inner_texts()) <= wanted
        assert set(page.locator(".exhibit:visible h3 bdi").all_inner_texts()) <= wanted
        expect(page.locator("#count")).to_have_text(f"{len(wanted)} of {len(report.issues)} issues")
        assert page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))") == chosen
        page.reload()


def test_the_evidence_and_the_grids_follow(page: Page) -> None:
    page.locator("#text").fill("torchao-aqt-matmul-values")
    assert page.locator(".m tbody th:visible").all_inner_texts() == ["torchao-aqt-matmul-values"]
    assert page.locator(".sheet:visible").count() == 1
    assert page.locator(".exhibit:visible").count() == 1


def test_a_shared_link_has_the_filters(visit: Callable[..., Page], page_file: Path) -> None:
    page = visit(page_file, "#component=torchao&changed=1")
    assert answered(page) == {"torchao-aqt-matmul", "torchao-aqt-matmul-values"}
    assert page.locator("#component").input_value() == "torchao"
    assert page.locator("#changed").is_checked()


def test_back_and_forward_go_through_the_filters(page: Page) -> None:
    page.locator("#affected").check()
    page.locator("#component").select_option("torchao")
    page.locator("#text").press_sequentially("values", delay=5)
    assert answered(page) == {"torchao-aqt-matmul-values"}
    page.go_back()  # all letters of a search are one step
    assert page.locator("#text").input_value() == ""
    page.go_back()
    assert page.locator("#component").input_value() == ""
    assert answered(page) == {"torchao-aqt-matmul-values", "torch-weights-only"}
    page.go_back()
    assert not page.locator("#affected").is_checked()
    page.go_forward()
    page.go_forward()
    assert page.locator("#component").input_value() == "torchao"
    assert answered(page) == {"torchao-aqt-matmul-values"}


def test_nothing_left_is_said_and_can_be_undone(page: Page, report: Report) -> None:
    expect(page.locator("#clear")).to_be_hidden()
    page.locator("#text").fill("no such thing")
    expect(page.get_by_text("No issue matches these filters.")).to_be_visible()
    expect(page.locator("#count")).to_have_text(f"0 of {len(report.issues)} issues")
    assert page.locator("table:visible").count() == 0
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.get_by_text("No issue matches these filters.")).to_be_hidden()
    assert answered(page) == set(report.issues)
    assert "=" not in page.url


def test_words_of_a_search_may_stand_anywhere(page: Page) -> None:
    page.locator("#text").fill("TORCH-CPU sigsegv")
    assert answered(page) == {"torch-no-grad"}


def test_a_link_within_the_page_keeps_the_filters(page: Page) -> None:
    page.locator("#affected").check()
    page.locator(".a tbody:visible .in a").first.click()
    assert "affected=1" in page.url
    found = page.locator(".exhibit.found")
    expect(found).to_be_in_viewport()
    assert page.evaluate("document.activeElement.tagName") == "H3"
    page.reload()
    expect(page.locator(".exhibit.found")).to_be_in_viewport()


def test_a_link_to_something_hidden_shows_it(page: Page) -> None:
    page.locator("#text").fill("no such thing")
    page.get_by_role("navigation").get_by_text("Evidence").click()
    expect(page.locator("#evidence")).to_be_in_viewport()
    assert page.locator("#text").input_value() == ""


def test_a_link_to_evidence_leads_there(visit: Callable[..., Page], page_file: Path, page: Page) -> None:
    last = page.locator(".exhibit").last.get_attribute("id")
    there = visit(page_file, f"#{last}")
    expect(there.locator(f"#{last}")).to_be_in_viewport()


@pytest.mark.parametrize(
    "fragment",
    ["#cell=nothing&issue=x&along=y", "#%", "#a=%zz", "#text=%3Cb%3E", "#component=unknown", "#=", "#changed=2"],
)
def test_an_address_that_says_nothing_known_is_harmless(
    visit: Callable[..., Page], page_file: Path, fragment: str
) -> None:
    page = visit(page_file, fragment)
    assert page.evaluate("document.documentElement.dataset.ready") == "1"
    assert page.locator("dialog[open]").count() == 0
