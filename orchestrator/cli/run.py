"""`orchestrator run`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import (
    cell_options,
    color_option,
    jobs_option,
    report_option,
    search_of,
    search_options,
    selection_of,
    width_of,
)
from orchestrator.cli.sharding import measure_shard, output_option, shard_of, shard_option
from orchestrator.errors import InterruptedRunError

if TYPE_CHECKING:
    from orchestrator.cli.reporting import Wanted
    from orchestrator.knowledge import Rerun


@click.command()
@cell_options
@jobs_option
@click.option(
    "--rerun",
    type=click.Choice(["missing", "failed", "infra", "all"]),
    default="missing",
    show_default=True,
    help="What to run again besides what is missing.",
)
@click.option(
    "--search",
    "mode",
    type=click.Choice(["exhaustive", "adaptive", "auto"]),
    default="exhaustive",
    show_default=True,
    help="Run every cell, only those that the answers need, or whichever costs less.",
)
@search_options
@shard_option
@output_option
@report_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Measure what is not known yet of MATRIX and report where every issue stands."""
    # Imported here: `run --help` and what is wrong with the matrix answer before anything heavy is loaded.
    from orchestrator.config import load  # noqa: PLC0415

    width = width_of(given["jobs"])
    shard = shard_of(given)
    matrix = load(given["matrix"])
    search = search_of(given, always=given["mode"] == "adaptive")
    if shard is not None:
        click.get_current_context().exit(measure_shard(given, matrix, shard, search.prior, width))

    from orchestrator.cli.board import board  # noqa: PLC0415
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import exit_code, parse_reports, write_reports  # noqa: PLC0415
    from orchestrator.cli.workshop import open_workshop, stopped_by_signals  # noqa: PLC0415
    from orchestrator.measure import Options  # noqa: PLC0415
    from orchestrator.pipeline import run  # noqa: PLC0415
    from orchestrator.runs import save  # noqa: PLC0415

    reports: tuple[Wanted, ...] = parse_reports(given["reports"])
    out, err = consoles(given["color"])
    cancel = threading.Event()
    rerun: Rerun = given["rerun"]
    with (
        board(err, width) as observer,
        stopped_by_signals(cancel),
        open_workshop(given, matrix, observer, cancel) as shop,
    ):
        options = Options(selection=selection_of(given), width=width, rerun=rerun)
        report = run(shop, options, None if given["mode"] == "exhaustive" else search, search.prior)
    report = save(shop.store.root, report)
    write_reports(report, reports, out)
    if cancel.is_set():
        raise InterruptedRunError(
            "interrupted", hint="what was measured is kept; the same command goes on from there"
        )
    click.get_current_context().exit(exit_code(report))
