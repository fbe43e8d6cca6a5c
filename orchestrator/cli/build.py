"""`orchestrator build`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import (
    cell_options,
    color_option,
    jobs_option,
    selection_of,
    width_of,
)
from orchestrator.errors import ExitCode, InterruptedRunError

if TYPE_CHECKING:
    from orchestrator.execute.port import Step
    from orchestrator.execute.schedule import Unprepared


@click.command()
@cell_options
@jobs_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Build the environments of MATRIX's cells and keep them; run nothing."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from orchestrator.cli.board import board  # noqa: PLC0415
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.workshop import open_workshop, stopped_by_signals  # noqa: PLC0415
    from orchestrator.config import load  # noqa: PLC0415
    from orchestrator.execute.schedule import Scheduler  # noqa: PLC0415
    from orchestrator.prospect import prospect  # noqa: PLC0415

    width = width_of(given["jobs"])
    matrix = load(given["matrix"])
    _, err = consoles(given["color"])
    cancel = threading.Event()
    failed: list[tuple[Step, Unprepared]] = []
    with (
        board(err, width) as observer,
        stopped_by_signals(cancel),
        open_workshop(given, matrix, observer, cancel) as shop,
    ):
        seen = prospect(shop, selection_of(given))
        with ThreadPoolExecutor(max_workers=width, thread_name_prefix="build") as executor:
            scheduler = Scheduler(
                shop.runtime,
                executor,
                width=width,
                limits=matrix.limits,
                observer=observer,
                cancel=cancel,
                took=shop.took,
            )
            scheduler.build(
                seen.plan,
                [one.lock.digest for one in seen.selected],
                lambda step, failure: failed.append((step, failure)),
            )
        there = [one for one in seen.selected if shop.runtime.ready(seen.plan.chain(one.lock.digest)[-1])]
    for step, failure in failed:
        click.echo(f"{step.title} [{step.key[:12]}]: {failure.reason}\n{failure.log}", err=True)
    for cell, reason in seen.impossible.items():
        click.echo(f"not possible here: {cell}: {reason}", err=True)
    click.echo(
        f"{len(there)} of {len(seen.selected) + len(seen.impossible)} selected cells have their environment"
    )
    if cancel.is_set():
        raise InterruptedRunError(
            "interrupted", hint="what was built is kept; the same command goes on from there"
        )
    click.get_current_context().exit(ExitCode.INCOMPLETE if failed else ExitCode.OK)
