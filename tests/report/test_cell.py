from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from orchestrator.model import Fingerprint
from orchestrator.report import cell, contract
from orchestrator.report.clean import cleaned

if TYPE_CHECKING:
    from orchestrator.model import CellRow, Report


def plain(_role: str, text: str) -> str:
    return text


def row(report: Report, name: str) -> CellRow:
    (found,) = (one for one in report.cells if one.cell == name)
    return found


def test_all_that_is_known_of_a_cell(report: Report) -> None:
    shown = cell.render(report, row(report, "torch-cpu-py3.11-torch2.1.2"), ("the end",), 200, plain)
    for text in (
        "stack torch-cpu, Python 3.11, torch 2.1.2",
        "measured 2026-11-20 09:30:00 UTC in 12.5 s, runtime docker, base sha256:4f6e0a8c",
        "on Intel(R) Xeon(R) Processor, Linux 6.1.0 x86_64",
        "RuntimeError: \"dot\" not implemented for 'Half'",
        "mae 3.735e-06",
        "Differs along torch from torch-cpu-py3.11-torch2.1.0\n  filelock 3.16.0 → 3.13.1",
        "Log\n  | the end",
    ):
        assert text in shown


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_cell_fits_the_terminal(report: Report, width: int) -> None:
    for one in report.cells:
        shown = cell.render(report, one, (), width, plain)
        assert max(map(len, shown.splitlines())) <= width


def test_what_it_was_measured_on_is_said(report: Report) -> None:
    measured = row(report, "torch-cpu-py3.11-torch2.1.2").origin
    mark = Fingerprint(
        device="8086:e20b Arc B580",
        driver="xe",
        system="Linux 6.12 x86_64",
        firmware="gfx 70.44",
        runtime={"torch.version.xpu": "20250004", "libze1": "1.20.2"},
    )
    assert list(cell.origin(replace(measured, fingerprint=mark)))[1:] == [
        "on 8086:e20b Arc B580, xe, firmware gfx 70.44, Linux 6.12 x86_64",
        "with libze1 1.20.2, torch.version.xpu 20250004",
    ]


def test_why_nothing_ran_is_said(report: Report) -> None:
    shown = cell.render(report, row(report, "xla-cpu-py3.10-torch_xla2.6.0"), (), 100, plain)
    assert "build failed: No space left on device" in shown
    assert "lock" not in shown
    idle = cell.render(report, row(report, "torch-xpu-py3.11-torch2.6.0-xpu"), (), 100, plain)
    assert "no device" in idle


def test_a_cell_for_programs_has_what_its_issues_came_to(report: Report) -> None:
    report = cleaned(report)
    found = contract.cell(report, row(report, "torch-cpu-py3.11-torch2.1.2"))
    assert found["format"] == 1
    assert found["measured"]["fingerprint"]["device"] == "Intel(R) Xeon(R) Processor"
    assert found["results"]["torch-dot-half"]["outcome"] == "fail"
    assert found["results"]["torch-no-grad"]["metrics"] == {"mae": 3.7346e-06}
    assert found["neighbours"]["torch"]["cell"] == "torch-cpu-py3.11-torch2.1.0"
