"""`orchestrator history`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import color_option, store_option
from orchestrator.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orchestrator.model import Report
    from orchestrator.report.chronicle import Entry

FORMAT = 1


@click.command()
@click.argument("issue")
@click.option("--all", "every", is_flag=True, help="Also the runs that said the same as the one before.")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
@store_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Show what each run said of ISSUE: the runs where that changed, the oldest first."""
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import styler, width_of_terminal  # noqa: PLC0415
    from orchestrator.report.chronicle import chronicle, table  # noqa: PLC0415

    entries: tuple[Entry, ...] = chronicle(_runs(given["store"].absolute()), given["issue"], every=given["every"])
    if not entries:
        raise ConfigError(
            f"no run in {given['store']} has an issue {given['issue']!r}",
            hint="`orchestrator report` shows the issues of the last run",
        )
    if given["format_"] == "json":
        document = {"format": FORMAT, "issue": given["issue"], "runs": [one.as_json() for one in entries]}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    out, _ = consoles(given["color"])
    click.echo(table(entries, width_of_terminal(out), styler(out)), nl=False, color=True)


def _runs(root: Path) -> Iterator[tuple[str, Report]]:
    """Read the runs of a store, the oldest first; what cannot be read is told and left out."""
    from orchestrator.report.clean import cleaned  # noqa: PLC0415
    from orchestrator.runs import names, recorded  # noqa: PLC0415

    for name in names(root):
        try:
            yield name, cleaned(recorded(root, name))
        except ConfigError as error:
            click.echo(f"left out: {error}", err=True)
