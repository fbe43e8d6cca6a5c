"""Reports to where the user wants them, and the exit code they come to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.style import Style

from orchestrator.errors import EnvironmentUnusableError, ExitCode
from orchestrator.files import write_atomic
from orchestrator.model import Outcome, Surprise
from orchestrator.report import FORMATS, pieces, render

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from orchestrator.model import Report

_NARROWEST = 80
"""Columns below which a report is not squeezed."""

_PIPED = 120
"""Columns for a file or a pipe, which have no width of their own; COLUMNS gives another."""

_STYLES = {
    "heading": "bold",
    "issue": "bold",
    "ok": "green",
    "affected": "red",
    "unknown": "yellow",
    "finding": "bold red",
    "muted": "dim",
}

_INCOMPLETE = (Outcome.BUILD_FAILED, Outcome.INFRA, Outcome.NOT_RUN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One report: its format, and the file it goes to or None for standard output."""

    format: str
    path: Path | None


def parse_reports(texts: Sequence[str]) -> tuple[Wanted, ...]:
    """Read `FORMAT[:FILE]`; nothing given means text on standard output.

    Raises:
        click.BadParameter: there is no such format.
    """
    wanted = []
    for text in texts or ("text",):
        name, _, file = text.partition(":")
        if name not in FORMATS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(FORMATS)}", param_hint="--report")
        wanted.append(Wanted(format=name, path=Path(file) if file else None))
    return tuple(wanted)


def write_reports(report: Report, wanted: Sequence[Wanted], out: Console) -> None:
    """Write every report that is wanted; a file is replaced as a whole or not at all.

    Of `github`, the summary of the job gets the Markdown where GitHub says where that is.
    """
    for one in wanted:
        if one.format == "github" and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
            _append(Path(summary), render(report, "markdown"))
        if one.path is None:
            text = render(report, one.format, width=width_of_terminal(out), style=styler(out))
            click.echo(text, nl=False, color=True)
            continue
        try:
            write_atomic(one.path, pieces(report, one.format))
        except OSError as error:
            hint = "the results are kept: `orchestrator report` writes them again"
            raise EnvironmentUnusableError(f"cannot write {one.path}: {error.strerror}", hint=hint) from None


def _append(path: Path, text: str) -> None:
    """Add to a job's summary: what other steps wrote there stays."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise EnvironmentUnusableError(f"cannot write the job's summary {path}: {error.strerror}") from None


def exit_code(report: Report) -> ExitCode:
    """Return what a report comes to: findings first, then what could not be measured; a fix is no failure."""
    if any(finding.kind is not Surprise.FIXED for finding in report.findings):
        return ExitCode.FINDINGS
    outcomes = {point.outcome for series in report.series for point in series.points}
    if report.searched is not None:
        # A search leaves cells out on purpose; it is incomplete where an issue has no answer.
        outcomes.discard(Outcome.NOT_RUN)
        if report.searched.open:
            return ExitCode.INCOMPLETE
    return ExitCode.INCOMPLETE if incomplete(outcomes) else ExitCode.OK


def incomplete(outcomes: set[Outcome]) -> bool:
    """Tell whether something could not be measured that can be, by another try or elsewhere."""
    return bool(outcomes.intersection(_INCOMPLETE))


def width_of_terminal(console: Console) -> int:
    """Return how many columns a report has."""
    piped = not console.is_terminal and "COLUMNS" not in os.environ
    return _PIPED if piped else max(console.width, _NARROWEST)


def styler(console: Console) -> Callable[[str, str], str]:
    """Return what puts the colours of a role around a text; nothing where there are to be none."""
    if not console.is_terminal or console.no_color:
        return _plain
    styles = {role: Style.parse(style) for role, style in _STYLES.items()}

    def style(role: str, text: str) -> str:
        return styles[role].render(text) if role in styles else text

    return style


def _plain(role: str, text: str) -> str:  # noqa: ARG001 - the signature of a style
    return text
