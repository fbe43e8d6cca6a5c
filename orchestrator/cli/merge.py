"""`orchestrator merge`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import color_option, report_option

if TYPE_CHECKING:
    from orchestrator.cli.reporting import Wanted


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=".orchestrator",
    show_default=True,
    help="The store that gets the results and the run.",
)
@report_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Join what shards measured (the directories of `run --shard`) and report like one run of all cells."""
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import exit_code, parse_reports, write_reports  # noqa: PLC0415
    from orchestrator.errors import ExitCode  # noqa: PLC0415
    from orchestrator.merge import merge  # noqa: PLC0415

    reports: tuple[Wanted, ...] = parse_reports(given["reports"])
    merged = merge([directory.absolute() for directory in given["directories"]], given["store"].absolute())
    count = merged.shards[0].count
    click.echo(
        f"{len(merged.shards)} {'shard' if len(merged.shards) == 1 else 'shards'} of {count} merged into "
        f"{given['store']}, {merged.new} attempts of them new",
        err=True,
    )
    for index, cells in merged.missing.items():
        click.echo(f"missing: shard {index}/{count} ({cells} {'cell' if cells == 1 else 'cells'})", err=True)
    write_reports(merged.report, reports, consoles(given["color"])[0])
    code = exit_code(merged.report)
    if code is ExitCode.OK and merged.missing:
        code = ExitCode.INCOMPLETE
    click.get_current_context().exit(code)
