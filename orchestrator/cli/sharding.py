"""`orchestrator run --shard`: measures one part of a matrix and leaves it for `merge`."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import selection_of
from orchestrator.errors import ExitCode, InterruptedRunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.matrix import Shard
    from orchestrator.model import Matrix
    from orchestrator.pinpoint import Measured
    from orchestrator.pinpoint.prior import Prior

shard_option = click.option(
    "--shard",
    metavar="I/N",
    help="Only the cells of this part, without a report; `merge` joins the parts.",
)
output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where a shard leaves what it measured.  [default: shards/I-of-N in the store]",
)


def shard_of(given: dict[str, Any]) -> Shard | None:
    """Return the shard that a command's parameters ask for, if they do.

    Raises:
        click.UsageError: it is none, or there are options that do not go with it.
    """
    from orchestrator.matrix import parse_shard  # noqa: PLC0415

    if given["shard"] is None:
        if given["output"] is not None:
            raise click.UsageError("--output is for --shard; reports are written with --report FORMAT:FILE")
        return None
    if given["reports"]:
        raise click.UsageError("a shard has no report: `orchestrator merge` writes that of all shards")
    if given["mode"] != "exhaustive":
        raise click.UsageError("a search needs the whole matrix: a shard cannot be searched")
    try:
        return parse_shard(given["shard"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--shard") from None


def measure_shard(given: dict[str, Any], matrix: Matrix, shard: Shard, prior: Prior, width: int) -> ExitCode:
    """Measure a shard, write its directory, and return what the process is to say.

    Raises:
        InterruptedRunError: the user stopped it; what was measured is written.
    """
    from orchestrator.cli.board import board  # noqa: PLC0415
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.workshop import open_workshop, stopped_by_signals  # noqa: PLC0415
    from orchestrator.measure import Options  # noqa: PLC0415
    from orchestrator.part import check_target, write_part  # noqa: PLC0415
    from orchestrator.shard import run_shard  # noqa: PLC0415

    target: Path = given["output"] or given["store"] / "shards" / shard.name
    check_target(target.absolute())
    _, err = consoles(given["color"])
    cancel = threading.Event()
    with (
        board(err, width) as observer,
        stopped_by_signals(cancel),
        open_workshop(given, matrix, observer, cancel) as shop,
    ):
        options = Options(selection=selection_of(given), width=width, rerun=given["rerun"])
        part = run_shard(shop, options, shard, prior)
    write_part(part, shop.store, target.absolute())
    click.echo(f"shard {shard}: {_summary(part.measured)}: {target}")
    if cancel.is_set():
        raise InterruptedRunError(
            "interrupted", hint="what was measured is kept; the same command goes on from there"
        )
    from orchestrator.cli.reporting import incomplete  # noqa: PLC0415

    outcomes = {judgement.outcome for one in part.measured for judgement in one.judgements.values()}
    return ExitCode.INCOMPLETE if incomplete(outcomes) else ExitCode.OK


def _summary(measured: Sequence[Measured]) -> str:
    """Say what became of the cells: "17 cells, 2 of them build-failed"."""
    if not measured:
        return "no cells"
    others = Counter(one.outcome.value for one in measured if one.outcome is not None)
    parts = [f"{count} {outcome}" for outcome, count in sorted(others.items())]
    cells = f"{len(measured)} {'cell' if len(measured) == 1 else 'cells'}"
    return f"{cells}, of them {', '.join(parts)}" if parts else f"{cells} measured"
