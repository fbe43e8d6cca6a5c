"""A headless Chromium that shows pages from files, and sees to it that they ask for nothing else."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

from orchestrator.report import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

    from orchestrator.model import Report

_SPEC = importlib.util.spec_from_file_location(
    "realistic_report", Path(__file__).parents[1] / "report" / "conftest.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
_REALISTIC = importlib.util.module_from_spec(_SPEC)
sys.modules["realistic_report"] = _REALISTIC
_SPEC.loader.exec_module(_REALISTIC)

report = _REALISTIC.report
"""The report of tests/report, here as well."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Skip without a Chromium, but never where ORCHESTRATOR_REQUIRE_BROWSER says that there is one."""
    path = shutil.which("chromium")
    if path is None and os.environ.get("ORCHESTRATOR_REQUIRE_BROWSER"):
        pytest.fail("no chromium on the path")
    if path is None:
        pytest.skip("no chromium on the path")
    with sync_playwright() as playwright:
        # Its sandbox refuses to work for root, which tests in a container often are.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = playwright.chromium.launch(executable_path=path, args=sandbox)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Report], Path]:
    """Write the page of a report once for all tests that ask for it by the same name."""
    home = tmp_path_factory.mktemp("pages")

    def write(name: str, shown: Report) -> Path:
        path = home / f"{name}.html"
        if not path.exists():
            path.write_text(render(shown, "html"), encoding="utf-8")
        return path

    return write


@dataclass
class Watched:
    """What a page did that it should not do."""

    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def watch(self, page: Page, address: str) -> None:
        def asked(request: Request) -> None:
            own = request.url.partition("#")[0] == address or request.url.startswith("data:image/svg+xml;")
            if not own:
                self.requests.append(request.url)

        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.errors.append(message.text)

        page.on("request", asked)
        page.on("console", said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open files. After the test no page of it may have asked for anything, opened a dialog, or complained."""
    contexts, watched = [], Watched()

    def open_page(path: Path, fragment: str = "", *, watch: bool = True, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(5000)
        contexts.append(context)
        page = context.new_page()
        if watch:
            watched.watch(page, path.as_uri())
        page.goto(path.as_uri() + fragment)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert watched == Watched()


@pytest.fixture
def page_file(report: Report, written: Callable[[str, Report], Path]) -> Path:
    return written("report", report)


@pytest.fixture
def page(visit: Callable[..., Page], page_file: Path) -> Page:
    return visit(page_file)
