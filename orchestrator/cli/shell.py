"""`orchestrator shell`."""

from __future__ import annotations

from typing import Any

import click

from orchestrator.cli.options import cell_argument, color_option, runtime_options, store_option
from orchestrator.cli.repro import become, issue_option, prepare


@click.command()
@cell_argument
@issue_option
@runtime_options
@store_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Open a shell in the container or environment of CELL, made if it is missing."""
    line, _, again = prepare(given, make=True, interactive=True)
    click.echo(f"the probes run again with: {again}", err=True)
    become(line)
