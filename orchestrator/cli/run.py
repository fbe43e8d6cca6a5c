"""`orchestrator run`."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import matrix_argument, selection_of, selection_options, store_option
from orchestrator.errors import InterruptedRunError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orchestrator.cli.reporting import Wanted
    from orchestrator.measure import Rerun


@click.command()
@matrix_argument
@selection_options
@click.option("-j", "--jobs", default="auto", metavar="N", help="How much to do at once; auto: one per CPU.")
@click.option(
    "--runtime",
    type=click.Choice(["auto", "docker", "venv"]),
    default="auto",
    show_default=True,
    help="Containers, or virtual environments on this host; auto: containers if an engine answers.",
)
@click.option(
    "--builder",
    type=click.Choice(["auto", "classic", "buildkit"]),
    default="auto",
    show_default=True,
    help="How images are built; auto: what works on this engine.",
)
@click.option(
    "--rerun",
    type=click.Choice(["missing", "failed", "infra", "all"]),
    default="missing",
    show_default=True,
    help="What to run again besides what is missing.",
)
@click.option("--refresh", is_flag=True, help="Ask the indexes again and resolve every cell anew.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT[:FILE]",
    help="text, markdown or json; to standard output or to a file. May be repeated; default: text.",
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Measure what is not known yet of MATRIX and report where every issue stands."""
    # Imported here: `run --help` and what is wrong with the matrix answer before anything heavy is loaded.
    from orchestrator.config import load  # noqa: PLC0415

    width = _width(given["jobs"])
    matrix = load(given["matrix"])

    from orchestrator.cli.board import board  # noqa: PLC0415
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import exit_code, parse_reports, write_reports  # noqa: PLC0415
    from orchestrator.cli.runtimes import open_runtime  # noqa: PLC0415
    from orchestrator.measure import Options, Workshop  # noqa: PLC0415
    from orchestrator.pipeline import run  # noqa: PLC0415
    from orchestrator.resolve import Resolver  # noqa: PLC0415
    from orchestrator.results import Store  # noqa: PLC0415
    from orchestrator.runs import save  # noqa: PLC0415

    reports: tuple[Wanted, ...] = parse_reports(given["reports"])
    root: Path = given["store"].absolute()
    out, err = consoles(given["color"])
    store = Store(root)
    cancel = threading.Event()
    rerun: Rerun = given["rerun"]
    with board(err, width) as observer, _stopped_by_signals(cancel):
        runtime = open_runtime(given["runtime"], given["builder"], matrix, root / "cache", observer)
        shop = Workshop(
            matrix=matrix,
            resolver=Resolver(matrix, root / "cache", refresh=given["refresh"]),
            runtime=runtime,
            store=store,
            observer=observer,
            cancel=cancel,
        )
        report = run(shop, Options(selection=selection_of(given), width=width, rerun=rerun))
    save(root, report)
    write_reports(report, reports, out)
    if cancel.is_set():
        raise InterruptedRunError(
            "interrupted", hint="what was measured is kept; the same command goes on from there"
        )
    click.get_current_context().exit(exit_code(report))


@contextmanager
def _stopped_by_signals(cancel: threading.Event) -> Iterator[None]:
    """Let the first SIGINT or SIGTERM stop the run in good order, and the second at once."""

    def stop(number: int, _frame: object) -> None:
        if cancel.is_set():
            signal.signal(number, signal.SIG_DFL)
            raise KeyboardInterrupt
        cancel.set()
        click.echo("stopping: running cells are ended and their results kept; once more to stop at once", err=True)

    kept = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _width(text: str) -> int:
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 256:  # noqa: PLR2004
        raise click.BadParameter(f"{text!r} is neither 'auto' nor a number from 1 to 256", param_hint="--jobs")
    return int(text)
