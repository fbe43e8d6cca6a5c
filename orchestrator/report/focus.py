"""A report of one issue only: the same report, with what belongs to nothing else left out."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError

if TYPE_CHECKING:
    from orchestrator.model import Report


def on_issue(report: Report, issue: str) -> Report:
    """Return what a report says of one issue.

    Raises:
        ConfigError: it has no series of such an issue.
    """
    series = tuple(one for one in report.series if one.issue == issue)
    if not series:
        names = sorted({one.issue for one in report.series})
        near = difflib.get_close_matches(issue, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(names)}"
        raise ConfigError(f"the run has no issue {issue!r}", hint=hint)
    cells = {point.cell for one in series for point in one.points}
    stacks = {one.stack for one in series}
    return replace(
        report,
        series=series,
        findings=tuple(one for one in report.findings if one.issue == issue),
        cells=tuple(row for row in report.cells if row.cell in cells),
        issues={name: topic for name, topic in report.issues.items() if name == issue},
        stacks={name: setting for name, setting in report.stacks.items() if name in stacks},
        notices=(),
        since=None,
    )
