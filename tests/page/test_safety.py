"""Text that would like to be markup, a script or a request, everywhere that a report has text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs
from playwright.sync_api import expect

from orchestrator.model import CellRow, Moved, Neighbour, Origin, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from orchestrator.model import Report, Series

EVIL = (
    "</script><script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>"
    '" \' onmouseover=alert(3) x="<svg onload=alert(4)></bdi></style><style>*{display:none}</style>--><!-- '
    "{{7*7}} {% raw %} ${7*7} @everyone | `tick` \x1b[31m \u202eevil\u2066 \u2028 &lt;b&gt; \x00 "
    "javascript:alert(5)"
)
HUGE = "<b>x</b> " * 120_000


def evil(series: Series, text: str) -> Series:
    points = tuple(
        structs.replace(point, signature=text, metrics={text: 1.0}, log=(text, "<b>", text))
        for point in series.points
    )
    changes = tuple(
        replace(
            one,
            culprit=(text,) if one.after else (),
            moved=(Moved(name=text, before=None, after=text),),
            compare="javascript:alert(6)" if one.after else None,
            git_versions=(text, text),
            commit=text,
        )
        for one in series.transitions
    )
    return replace(series, points=points, transitions=changes, fixed={text: text})


def hostile(report: Report, text: str) -> Report:
    topics = {name: replace(one, title=text, link="javascript:alert(7)//") for name, one in report.issues.items()}
    moved = (Moved(name=text, before=text, after=None),)

    def poisoned(row: CellRow) -> CellRow:
        origin: Origin | None = row.origin
        if origin is not None and origin.fingerprint is not None:
            on = replace(origin.fingerprint, device=text, driver=text, system=text)
            origin = replace(origin, runtime=text, base=text, fingerprint=on)
        near: dict[str, Any] = {axis: replace(one, moved=moved) for axis, one in row.neighbours.items()}
        versions = dict.fromkeys(row.versions, text)
        return replace(row, versions=versions, reason=text, log=(text,), lock=text, origin=origin, neighbours=near)

    extra = CellRow(
        cell=text,
        stack="torch-cpu",
        python=text,
        versions={text: text},
        outcome=Outcome.BUILD_FAILED,
        reason=text,
        log=(text,) * 50,
        neighbours={"torch": Neighbour(cell=text, moved=moved)},
    )
    return replace(
        report,
        series=tuple(evil(one, text) for one in report.series),
        cells=(*map(poisoned, report.cells), extra),
        issues=topics,
        notices=(text,),
        stacks={name: replace(one, note=text) for name, one in report.stacks.items()},
        provenance=replace(report.provenance, host=text, runtime=text),
    )


@pytest.fixture(params=["evil", "huge"])
def poisoned(request: pytest.FixtureRequest, report: Report, written: Callable[[str, Report], Path]) -> Path:
    text = {"evil": EVIL, "huge": HUGE}[request.param]
    return written(request.param, hostile(report, text))


def test_hostile_text_is_text(visit: Callable[..., Page], poisoned: Path, page: Page) -> None:
    bad = visit(poisoned)  # which fails for any request, dialog and complaint
    assert bad.evaluate("document.documentElement.dataset.ready") == "1"
    elements = "[...new Set([...document.querySelectorAll('body *')].map(one => one.localName))].sort()"
    assert set(bad.evaluate(elements)) <= {*page.evaluate(elements), "pre", "details", "summary"}
    assert bad.locator("[onmouseover], [onerror], [onload], [style], b b").count() == 0
    assert bad.locator("a[href^='javascript']").count() == 0
    expect(bad.locator("h1")).to_be_visible()


def test_hostile_text_is_text_in_the_panel_too(visit: Callable[..., Page], poisoned: Path) -> None:
    page = visit(poisoned)
    page.locator(".m td.f").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.locator("#panel script, #panel img, #panel b, #panel svg, #panel style").count() == 0
    assert page.locator("#panel dd", has_text="<").count() > 3


def test_a_message_of_a_megabyte_is_cut(report: Report, written: Callable[[str, Report], Path]) -> None:
    path = written("huge", hostile(report, HUGE))
    assert len(HUGE) > 1_000_000
    assert path.stat().st_size < 1_500_000


def test_a_page_that_was_tampered_with_runs_nothing(
    visit: Callable[..., Page], page_file: Path, tmp_path: Path
) -> None:
    added = (
        "<main><script>document.title = 'owned'</script>"
        "<p id=p style='color:red' onclick=\"document.title='owned'\">click</p>"
        "<img src=https://evil.example/x><iframe src=https://evil.example></iframe>"
    )
    path = tmp_path / "tampered.html"
    path.write_text(page_file.read_text(encoding="utf-8").replace("<main>", added, 1), encoding="utf-8")
    page = visit(path, watch=False)
    page.locator("#p").click()
    assert page.title() != "owned"
    assert page.locator("#p").evaluate("one => getComputedStyle(one).color") != "rgb(255, 0, 0)"
    assert (
        page.evaluate("performance.getEntriesByType('resource').filter(one => one.transferSize > 0).length") == 0
    )


def test_links_of_the_report_keep_the_page_to_itself(page: Page) -> None:
    for link in page.locator("a:not([href^='#'])").all():
        assert (link.get_attribute("href") or "").startswith("https://")
        assert link.get_attribute("rel") == "noopener noreferrer"
