"""`orchestrator report`: the page on demand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

import lettered
from orchestrator.cli.report import command
from orchestrator.model import Provenance
from orchestrator.runs import save

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    origin = Provenance(tool="t", matrix="m", started=datetime(2026, 11, 1, tzinfo=UTC))
    save(tmp_path / "store", lettered.report(lettered.series("gb"), provenance=origin))
    return tmp_path / "store"


@pytest.mark.parametrize("status", [0, 1])
def test_the_page_is_written_and_shown_to_a_browser(
    store: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    opened: list[str] = []

    def launch(address: str) -> int:
        opened.append(address)
        return status

    monkeypatch.setattr(click, "launch", launch)
    done = CliRunner().invoke(command, ["--open", "--store", str(store)], catch_exceptions=False)
    page = store / "report.html"
    assert (done.exit_code, done.stdout) == (0, f"{page}\n")
    assert opened == [page.as_uri()]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert ("no browser could be started" in done.stderr) == (status != 0)


def test_only_the_page_can_be_opened(store: Path) -> None:
    done = CliRunner().invoke(command, ["--open", "--format", "json", "--store", str(store)])
    assert done.exit_code == 2
    assert "--open shows the page" in done.output
    assert not (store / "report.html").exists()
