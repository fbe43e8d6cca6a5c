"""`orchestrator show`."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import color_option, store_option
from orchestrator.errors import ConfigError

if TYPE_CHECKING:
    from orchestrator.model import CellRow, Report

_LOG_LINES = 30


@click.command()
@click.argument("target", metavar="CELL|ISSUE")
@click.argument("run", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json", "issue"]),
    default="text",
    show_default=True,
    help="issue: ready to be pasted into an upstream tracker.",
)
@click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    default="matrix.yaml",
    show_default=True,
    help="Where the probes of an issue are looked up.",
)
@store_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Show all that the last run, or RUN, knows of a cell or an issue."""
    from orchestrator.report.clean import cleaned  # noqa: PLC0415
    from orchestrator.runs import recorded  # noqa: PLC0415

    report = cleaned(recorded(given["store"].absolute(), given["run"]))
    name, format_ = given["target"], given["format_"]
    row = next((row for row in report.cells if row.cell == name), None)
    if any(one.issue == name for one in report.series):
        _show_issue(report, given)
    elif row is None:
        raise _unknown(report, name)
    elif format_ in ("text", "json"):
        _show_cell(report, row, given)
    else:
        raise click.BadParameter(f"a cell is shown as text or json, not as {format_}", param_hint="--format")


def _show_issue(report: Report, given: dict[str, Any]) -> None:
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import styler, width_of_terminal  # noqa: PLC0415
    from orchestrator.report import render  # noqa: PLC0415
    from orchestrator.report.focus import on_issue  # noqa: PLC0415

    name, format_ = given["target"], given["format_"]
    if format_ == "issue":
        from orchestrator.cli.sources import probe_sources  # noqa: PLC0415
        from orchestrator.report import upstream  # noqa: PLC0415

        click.echo(upstream.render(report, name, probe_sources(report, name, given["matrix"])), nl=False)
        return
    out, _ = consoles(given["color"])
    text = render(on_issue(report, name), format_, width=width_of_terminal(out), style=styler(out))
    click.echo(text, nl=False, color=True)


def _show_cell(report: Report, row: CellRow, given: dict[str, Any]) -> None:
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import styler, width_of_terminal  # noqa: PLC0415
    from orchestrator.report import cell, contract  # noqa: PLC0415

    if given["format_"] == "json":
        click.echo(json.dumps(contract.cell(report, row), indent=2, ensure_ascii=False, allow_nan=False))
        return
    out, _ = consoles(given["color"])
    path = None
    if row.origin is not None:
        path = given["store"] / "attempts" / row.origin.attempt / "log.txt"
    text = cell.render(report, row, _tail(path), width_of_terminal(out), styler(out))
    click.echo(text, nl=False, color=True)
    if path is not None and path.is_file():
        click.echo(f"whole log: {path}", err=True)


def _tail(path: Path | None) -> tuple[str, ...]:
    """Return the last lines of a log, made harmless; none where it is not there any more."""
    from orchestrator.report.clean import clean_line  # noqa: PLC0415

    if path is None:
        return ()
    try:
        text = path.read_bytes()[-64 * 1024 :].decode(errors="replace")
    except OSError:
        return ()
    return tuple(clean_line(line)[:400] for line in text.splitlines()[-_LOG_LINES:])


def _unknown(report: Report, name: str) -> ConfigError:
    names = [*dict.fromkeys(one.issue for one in report.series), *(row.cell for row in report.cells)]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "`orchestrator report` shows what it has"
    return ConfigError(f"the run has neither a cell nor an issue {name!r}", hint=hint)
