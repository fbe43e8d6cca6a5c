"""The issue for an upstream tracker, of the realistic report and of hostile texts."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import lettered
from orchestrator.model import Fingerprint, Origin, Pin, Report
from orchestrator.report import upstream

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden" / "upstream.md"
HOSTILE = "@me ```\n````\n</details> <script> | `x` #1 \x1b[31m\u202e https://evil.example ##[error]no"


def test_golden(report: Report) -> None:
    file, name = "test_torch_dot_half.py", "test_dot_half_cpu"
    source = upstream.probe_source(ROOT / "probes" / file, f"{file}::{name}")
    (probe,) = report.issues["torch-dot-half"].probes
    rendered = upstream.render(report, "torch-dot-half", {probe: source})
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(rendered, encoding="utf-8")
    assert rendered == GOLDEN.read_text(encoding="utf-8")


def test_the_first_line_is_the_title_and_the_summary_says_what_is_known() -> None:
    told = upstream.render(lettered.report(lettered.series("ggnb")), "i", {})
    assert told.startswith(
        "# About i\n\n- s / lib: ✗ affected; introduced in (2.0, 4.0\\] (3.0 untested), over 99.9% sure\n"
    )
    assert "last good: 2.0" in told
    assert "first bad: 4.0" in told


def test_every_version_is_told_and_neighbours_share_a_row() -> None:
    told = upstream.render(lettered.report(lettered.series("gggggbbcag")), "i", {})
    rows = [re.sub(" +", " ", line) for line in told.splitlines() if line.startswith("|")]
    assert rows[2:7] == [
        "| 1.0 … 5.0 (5 versions) | ✓ pass | |",
        "| 6.0 and 7.0 | ✗ fail | It: broke |",
        "| 8.0 | ⚡ crash | It: broke |",
        "| 9.0 | \N{EN DASH} absent | |",
        "| 10.0 | ✓ pass | |",
    ]


def test_both_sides_have_their_commands() -> None:
    one = lettered.series("gb")
    told = upstream.render(lettered.report(one), "i", {})
    assert "orchestrator repro s-lib1.0 --issue i --run  # last good, 1.0\n" in told
    assert "orchestrator repro s-lib2.0 --issue i --run  # first bad, 2.0\n" in told
    assert told.count("<details>") == told.count("</details>") == 2
    assert "python3.11 -m venv last-good\n" in told
    assert "\nlib==2.0\nPINS\n" in told


def test_only_what_differs_is_shown_inline() -> None:
    one = lettered.series("gb")
    report = lettered.report(one)
    pins = {cell: (*pins, Pin(name="same", version="7")) for cell, pins in report.environments.items()}
    told = upstream.render(replace(report, environments=pins), "i", {})
    table = told.partition("## What differs")[2].partition("##")[0]
    assert re.search(r"\| lib +\| 1\.0 +\| 2\.0 +\|", table)
    assert "same" not in table
    assert told.count("\nsame==7\n") == 2


def test_it_says_what_it_ran_on() -> None:
    one = lettered.series("gb")
    report = lettered.report(one)
    mark = Fingerprint(device="Arc A770", driver="i915 1.2", system="Linux 6.1 x86_64")
    origin = Origin(
        attempt="a", runtime="docker", base="sha256:0", started=lettered.MOMENT, duration=1.0, fingerprint=mark
    )
    told = upstream.render(replace(report, cells=tuple(replace(r, origin=origin) for r in report.cells)), "i", {})
    for text in ("Arc A770", "i915 1.2", r"Linux 6.1 x86\_64", "docker"):
        assert told.count(f"| {text} ") == 2


def test_an_issue_that_was_always_there_has_one_side() -> None:
    told = upstream.render(lettered.report(lettered.series("bb")), "i", {})
    assert "## Environment: s / lib" in told
    assert told.count("<details>") == 1
    assert "newest bad: 2.0" in told


def test_what_is_not_known_is_said() -> None:
    told = upstream.render(lettered.report(lettered.series("dd")), "i", {})
    assert "- s / lib: ? unknown (no device)\n" in told
    assert "## Versions" not in told
    report = lettered.report(lettered.series("gb"))
    nothing = upstream.render(replace(report, series=()), "i", {})
    assert "No version has been tested." in nothing


def test_an_unknown_issue_is_refused(report: Report) -> None:
    with pytest.raises(ValueError, match="no issue 'nothing'"):
        upstream.render(report, "nothing", {})


def test_probes_are_named_where_their_source_is_missing(report: Report) -> None:
    (probe,) = report.issues["torch-dot-half"].probes
    told = upstream.render(report, "torch-dot-half", {})
    assert f"The probe is {probe.replace('_', chr(92) + '_')}." in told
    assert "```python" not in told


def test_several_probes_are_files_of_their_own(report: Report) -> None:
    topic = replace(report.issues["torch-dot-half"], probes=("a.py::test_a", "a.py::test_b"))
    sources = {"a.py::test_a": "A = 1\n", "a.py::test_b": "B = 1\n"}
    told = upstream.render(replace(report, issues={"torch-dot-half": topic}), "torch-dot-half", sources)
    assert "`a_test_a.py`, for pytest:\n\n```python\nA = 1\n```" in told
    assert "-m pytest a_test_a.py\n" in told
    assert "-m pytest a_test_b.py\n" in told


def test_no_fence_is_broken_and_no_text_is_markup() -> None:
    one = lettered.series("gb", stack="s|`")
    point = structs.replace(one.points[1], signature=HOSTILE, log=(*HOSTILE.splitlines(), "::error::no"))
    report = lettered.report(replace(one, points=(one.points[0], point)))
    topic = replace(report.issues["i"], title=HOSTILE, link="javascript:alert(1)", probes=("a.py::b",))
    told = upstream.render(replace(report, issues={"i": topic}), "i", {"a.py::b": f"'''\n{HOSTILE}\n````\n'''"})
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert not [line for line in told.splitlines() if line.lstrip().startswith("::") or "##[" in line]
    outside, fence = [], None
    for line in told.splitlines():
        found = re.match("`{3,}", line)
        if fence is None and found:
            fence = found.group()
        elif fence is not None and line == fence:
            fence = None
        elif fence is None:
            outside.append(line)
    assert fence is None
    assert told.count("\n`````python\n") == 1
    text = re.sub(r"\\[\\`*_\[\]<>|~&$#+=-]", "", re.sub("<summary>.*?</summary>", "", "\n".join(outside)))
    assert set(re.findall(r"</?\w+", text)) == {"<details", "</details", "<sub", "</sub"}
    assert not re.search(r"@\w|#\d|\]\(|https?://\w", text)


def test_of_a_long_history_the_newest_is_told() -> None:
    told = upstream.render(lettered.report(lettered.series("gb" * 50)), "i", {})
    assert "✗ affected; 93 changes before; fixed in 95.0 (after 94.0)" in told
    assert re.search(r"\| …60 results before +\| +\| +\|\n\| 61\.0 ", told)


def test_a_page_is_no_longer_than_a_tracker_takes() -> None:
    many = [lettered.series("gb" * 200, stack=f"stack-{number}") for number in range(60)]
    told = upstream.render(lettered.report(*many), "i", {})
    assert len(told) < 65_536
    assert told.startswith("# About i\n\n- stack-0 / lib: ✗ affected; 393 changes before;")
    assert told.rstrip().endswith("more than an issue can hold.")
