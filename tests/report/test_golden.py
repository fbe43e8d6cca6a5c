"""What a realistic report looks like, byte for byte, in tests/report/golden.

`UPDATE_GOLDEN=1 pytest tests/report/test_golden.py` writes the files anew; read their diff before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.report import render

if TYPE_CHECKING:
    from orchestrator.model import Report

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("name", "format_", "width"),
    [
        ("report-80.txt", "text", 80),
        ("report-120.txt", "text", 120),
        ("report.md", "markdown", 0),
        ("report.json", "json", 0),
        ("junit.xml", "junit", 0),
        ("report.csv", "csv", 0),
        ("osv.json", "osv", 0),
        ("browser-compat.json", "browser-compat", 0),
        ("constraints.txt", "constraints", 0),
        ("badge.svg", "badge", 0),
        ("github.txt", "github", 0),
    ],
)
def test_golden(report: Report, name: str, format_: str, width: int) -> None:
    rendered = render(report, format_, width=width)
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_bytes(rendered.encode())
    # Not read_text: CSV ends its lines with CR LF, which that hides.
    assert rendered == path.read_bytes().decode()
