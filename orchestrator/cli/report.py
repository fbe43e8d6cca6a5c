"""`orchestrator report`."""

from __future__ import annotations

from typing import Any

import click

from orchestrator.cli.options import store_option


@click.command()
@click.argument("run", required=False)
@click.option("--format", "format_", default="text", show_default=True, help="text, markdown or json.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to a file.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Show the report of the last run again, or of RUN (a name from the store's `runs`), in any format."""
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import parse_reports, write_reports  # noqa: PLC0415
    from orchestrator.runs import recorded  # noqa: PLC0415

    output = f":{given['output']}" if given["output"] else ""
    wanted = parse_reports([given["format_"] + output])
    report = recorded(given["store"].absolute(), given["run"])
    write_reports(report, wanted, consoles(given["color"])[0])
