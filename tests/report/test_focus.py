from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.errors import ConfigError
from orchestrator.report import render
from orchestrator.report.focus import on_issue

if TYPE_CHECKING:
    from orchestrator.model import Report


def test_nothing_of_other_issues_is_left(report: Report) -> None:
    found = on_issue(report, "torchao-aqt-matmul")
    assert {one.issue for one in found.series} == set(found.issues) == {"torchao-aqt-matmul"}
    assert {row.stack for row in found.cells} == set(found.stacks) == {"torchao-cpu"}
    text = render(found, "text")
    assert "0.11.0 (after 0.10.0)" in text
    assert "torch-dot-half" not in text


def test_every_series_of_the_issue_stays(report: Report) -> None:
    found = on_issue(report, "torch-no-grad")
    assert found.series == tuple(one for one in report.series if one.issue == "torch-no-grad")
    assert len(found.series) > 1


@pytest.mark.parametrize(
    ("name", "hint"), [("torch-dot-halff", "did you mean 'torch-dot-half'?"), ("zzz", "it has: torch-dot-half, ")]
)
def test_an_issue_that_is_not_there(report: Report, name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"no issue '{name}'") as caught:
        on_issue(report, name)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(hint)
