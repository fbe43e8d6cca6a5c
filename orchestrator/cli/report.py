"""`orchestrator report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orchestrator.cli.options import store_option
from orchestrator.report import FORMATS


@click.command()
@click.argument("run", required=False)
@click.option("--format", "format_", default="text", show_default=True, help=f"One of {', '.join(FORMATS)}.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to a file.")
@click.option("--open", "browse", is_flag=True, help="Write the HTML page and open it in a browser.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Show the report of the last run again, or of RUN (a name from the store's `runs`), in any format."""
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import parse_reports, write_reports  # noqa: PLC0415
    from orchestrator.runs import recorded  # noqa: PLC0415

    store = given["store"].absolute()
    format_, output = given["format_"], given["output"]
    if given["browse"]:
        if format_ not in ("text", "html"):
            raise click.UsageError(f"--open shows the page; --format {format_} has nothing to be opened")
        format_, output = "html", output or str(store / "report.html")
    wanted = parse_reports([f"{format_}:{output}" if output else format_])
    write_reports(recorded(store, given["run"]), wanted, consoles(given["color"])[0])
    if given["browse"]:
        click.echo(output)
        if click.launch(Path(output).absolute().as_uri()) != 0:
            click.echo("note: no browser could be started; the page is in that file", err=True)
