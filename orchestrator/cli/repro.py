"""`orchestrator repro`."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from typing import Any

import click

from orchestrator.cli.options import cell_argument, color_option, matrix_and_cell, runtime_options, store_option
from orchestrator.errors import EnvironmentUnusableError, InterruptedRunError

issue_option = click.option("--issue", "issues", multiple=True, metavar="ID", help="Only this issue's probes.")


@click.command()
@cell_argument
@issue_option
@click.option("--run", "execute", is_flag=True, help="Make the environment if it is missing, and run the command.")
@runtime_options
@store_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Print the exact command that runs the probes of CELL again, in the same container or environment.

    With --run it is run, and its exit status is the probes': 0 passed, 1 failed, anything else did not come to an
    answer. Nothing is recorded.
    """
    line, ready, _ = prepare(given, make=given["execute"], interactive=False)
    if not given["execute"]:
        click.echo(shlex.join(line))
        if not ready:
            click.echo("note: its environment is not there yet; --run makes it", err=True)
        return
    click.echo(shlex.join(line), err=True)
    become(line)


def prepare(given: dict[str, Any], *, make: bool, interactive: bool) -> tuple[tuple[str, ...], bool, str]:
    """Return the command, whether its environment is there, and how the probes are run from a shell."""
    from orchestrator import repro  # noqa: PLC0415
    from orchestrator.cli.board import board  # noqa: PLC0415
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.workshop import open_workshop, stopped_by_signals  # noqa: PLC0415
    from orchestrator.config import load  # noqa: PLC0415

    path, name = matrix_and_cell(given["target"])
    matrix = load(path)
    _, err = consoles(given["color"])
    cancel = threading.Event()
    with (
        board(err, 1) as observer,
        stopped_by_signals(cancel),
        open_workshop(given, matrix, observer, cancel) as shop,
    ):
        repetition = repro.repeat(shop, name, given["issues"])
        if make:
            repro.make(shop, repetition)
            repetition = repro.lease(shop, repetition)
        job, step = repetition.job, repetition.step
        ready = shop.runtime.ready(step)
        again = shop.runtime.again(job, step)
        if interactive:
            line = shop.runtime.shell(job, step, terminal=sys.stdin.isatty())
        else:
            line = shop.runtime.command(job, step)
    if make and (not ready or cancel.is_set()):
        raise InterruptedRunError("interrupted", hint="what was built is kept; the same command goes on")
    return line, ready, again


def become(line: tuple[str, ...]) -> None:
    """Let a command take the place of this process, so that signals and its exit status are its own.

    Raises:
        EnvironmentUnusableError: there is no such program.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(line[0], line)  # noqa: S606 - no shell is the point
    except OSError as error:
        raise EnvironmentUnusableError(
            f"cannot run {line[0]}: {error.strerror}", hint="the printed command does the same elsewhere"
        ) from None
