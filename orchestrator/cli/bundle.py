"""`orchestrator bundle`."""

from __future__ import annotations

import shlex
import threading
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.options import (
    cell_options,
    color_option,
    selection_of,
)


@click.command()
@cell_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The directory to write; it becomes a project of its own.",
)
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Write MATRIX with its wheels, base and runner to a directory, from which it runs without a network."""
    from orchestrator.bundle import write_bundle  # noqa: PLC0415
    from orchestrator.cli.board import board  # noqa: PLC0415
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.tracker import size  # noqa: PLC0415
    from orchestrator.cli.workshop import open_workshop, stopped_by_signals  # noqa: PLC0415
    from orchestrator.config import load  # noqa: PLC0415
    from orchestrator.prospect import prospect  # noqa: PLC0415

    matrix = load(given["matrix"])
    _, err = consoles(given["color"])
    cancel = threading.Event()
    with (
        board(err, 1) as observer,
        stopped_by_signals(cancel),
        open_workshop(given, matrix, observer, cancel) as shop,
    ):
        seen = prospect(shop, selection_of(given))
        done = write_bundle(shop, seen, given["output"])
    for cell, reason in seen.impossible.items():
        click.echo(f"not in the bundle: {cell}: {reason}", err=True)
    click.echo(f"{given['output']}: {done.cells} cells, {done.wheels} wheels, {size(done.size)}")
    click.echo("copy it to a host with this program and, for containers, an engine; in it, without a network:")
    click.echo(f"  {shlex.join(['orchestrator', 'run', 'matrix.yaml', *_selecting(given)])}")


def _selecting(given: dict[str, Any]) -> list[str]:
    """Return the options that select again what was selected here: nothing else is in the bundle."""
    options = (
        ("--select", "globs"),
        ("--skip", "skip"),
        ("--only", "only"),
        ("--issue", "issues"),
        ("--stack", "stacks"),
    )
    words = [word for option, name in options for value in given[name] for word in (option, value)]
    return [*words, *(["-k", given["expression"]] if given["expression"] else [])]
