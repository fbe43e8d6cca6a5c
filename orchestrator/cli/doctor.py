"""`orchestrator doctor`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from orchestrator.cli.options import color_option, matrix_argument, runtime_options, store_option
from orchestrator.errors import ExitCode

if TYPE_CHECKING:
    from orchestrator.model import Matrix


@click.command()
@matrix_argument
@runtime_options
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--forget-quarantine", is_flag=True, help="Let every GPU out of quarantine, and do nothing else.")
@store_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Say what is well on this host and what is wrong, and for each problem what to do.

    Looks at the engine, builders, disk, base images and indexes of MATRIX, the network, Python, devices, and what
    earlier runs have left. Takes 20 seconds at most. Exit code 5: a run could not work here.
    """
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import styler  # noqa: PLC0415
    from orchestrator.doctor import document, examine, render, scope_of  # noqa: PLC0415

    if given["forget_quarantine"]:
        _forget()
        return
    matrix = _matrix(given)
    store = given["store"].absolute()
    examined = examine(scope_of(matrix, store=store, runtime=given["runtime"], builder=given["builder"]))
    if given["format_"] == "json":
        click.echo(json.dumps(document(examined), indent=2, ensure_ascii=False))
    else:
        out, _ = consoles(given["color"])
        click.echo(render(examined, styler(out)), nl=False, color=True)
    click.get_current_context().exit(ExitCode.OK if examined.usable else ExitCode.ENVIRONMENT)


def _forget() -> None:
    from orchestrator.devices import forget_quarantine  # noqa: PLC0415

    for one in forget_quarantine():
        since = f"{one.since:%Y-%m-%d %H:%M} UTC"
        click.echo(f"{one.unit} may be used again; it was in quarantine since {since}: {one.reason}")


def _matrix(given: dict[str, Any]) -> Matrix | None:
    """Read the matrix; a host can be examined where there is none, unless one was named."""
    from orchestrator.config import load  # noqa: PLC0415

    named = click.get_current_context().get_parameter_source("matrix") is not ParameterSource.DEFAULT
    if not named and not given["matrix"].exists():
        click.echo("no matrix.yaml here: its indexes, bases and limits are not looked at", err=True)
        return None
    return load(given["matrix"])
