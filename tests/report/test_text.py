from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from orchestrator.model import Outcome
from orchestrator.report import FORMATS, render
from orchestrator.report.layout import paragraph, wrapped

if TYPE_CHECKING:
    from orchestrator.model import Report


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.parametrize("width", [60, 80, 100, 137, 200])
def test_no_line_is_wider_than_the_terminal(report: Report, width: int) -> None:
    lines = render(report, "text", width=width).splitlines()
    # Links and commands are to be pasted, so they stay whole.
    whole = ("https://", "    repeat: ")
    assert [line for line in lines if columns(line) > width and not any(word in line for word in whole)] == []
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_grid_is_split_where_it_is_too_wide(report: Report) -> None:
    rendered = render(report, "text", width=60)
    (grid,) = re.findall(r"^torch-cpu along torch\n(.*?)\n\n", rendered, re.DOTALL | re.MULTILINE)
    versions = [line.split() for line in grid.splitlines() if line.startswith(" ")]
    assert [version for line in versions for version in line] == [
        "2.0.1",
        "2.1.0",
        "2.1.2",
        "2.2.0",
        "2.5.1",
        "2.6.0",
        "2.7.1",
        "2.8.0",
    ]
    assert len(versions) == 2


def test_borders_stand_before_the_new_state_and_around_what_is_untested(report: Report) -> None:
    rendered = render(report, "text", width=120)
    assert re.search(r"^torch-dot-half +✗ +✗ +✗ +│✓ +✓ +✓ +✓ +✓$", rendered, re.MULTILINE)
    assert re.search(r"^xla-einsum-autocast +✗ +│⚒ +│✓ +✓$", rendered, re.MULTILINE)


def test_columns_stay_in_line_behind_a_wide_glyph(report: Report) -> None:
    lines = render(report, "text", width=120).splitlines()
    crash = next(line for line in lines if "⚡" in line and "│" in line)
    other = next(line for line in lines if line.startswith("torch-dot-half") and "│" in line)
    assert columns(crash.rpartition("✓")[0]) == columns(other.rpartition("✓")[0])


def test_a_stack_without_a_device_is_a_sentence_and_no_grid(report: Report) -> None:
    rendered = render(report, "text", width=120)
    assert (
        "ipex-xpu, torch-xpu: no Intel GPU on this host; 7 cells not run and nothing downloaded for them"
        in rendered
    )
    assert "ipex-xpu along" not in rendered
    assert "○" not in rendered


def test_the_legend_explains_the_glyphs_that_are_there(report: Report) -> None:
    (legend,) = (line for line in render(report, "text", width=120).splitlines() if line.startswith("✓ ok"))
    assert "⚡ crash" in legend
    assert "timeout" not in legend


def test_style_is_asked_for_colour_and_changes_no_layout(report: Report) -> None:
    roles = set()

    def style(role: str, text: str) -> str:
        roles.add(role)
        return f"\x1b[1m{text}\x1b[0m" if text else text

    styled = render(report, "text", width=80, style=style)
    bare = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[\d+m", "", styled).split("\n"))
    assert bare == render(report, "text", width=80)
    assert roles == {"heading", "issue", "ok", "affected", "unknown", "finding", "muted", "text"}


def test_no_escape_sequence_without_a_style(report: Report) -> None:
    assert not [format_ for format_ in FORMATS if "\x1b" in render(report, format_)]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_report_of_nothing_can_be_shown(report: Report, format_: str) -> None:
    empty = replace(report, series=(), findings=(), cells=(), issues={}, stacks={}, notices=())
    assert render(empty, format_).endswith("\n")


def test_coverage_counts_what_was_left_out(report: Report) -> None:
    excluded = replace(report.cells[0], cell="left-out", excluded=True, reason="torch 1 has no wheel")
    infra = replace(report.cells[0], cell="broken", outcome=Outcome.INFRA, reason="daemon restarted")
    rendered = render(replace(report, cells=(*report.cells, excluded, infra)), "text", width=120)
    assert (
        "21 of 32 cells measured; 1 incompatible; 2 build failed; 7 no device; 1 infra; 1 excluded by the matrix"
        in rendered
    )
    assert "left-out: excluded\n    torch 1 has no wheel\n" in rendered
    assert "broken: infra\n    daemon restarted\n" in rendered


def test_an_unknown_format_is_refused(report: Report) -> None:
    with pytest.raises(ValueError, match="'yaml' is not one of text, markdown, html, json"):
        render(report, "yaml")


def test_wrapped_counts_wide_characters_twice() -> None:
    assert len(wrapped("漢字漢字", 4)) == 2
    assert paragraph("one two three", 10, first="- ", rest="  ") == "- one two\n  three"
