"""`orchestrator prune`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import runtime_options, store_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orchestrator.execute.port import Held


def _read(reader: str) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    def callback(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:  # noqa: ANN401
        from orchestrator.config import quantities  # noqa: PLC0415

        try:
            return None if value is None else getattr(quantities, reader)(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return callback


@click.command()
@click.option(
    "--max-disk", metavar="SIZE", callback=_read("size"), help="Drop until the rest takes no more: 30GB, 512MiB."
)
@click.option(
    "--older-than", metavar="AGE", callback=_read("age"), help="Drop what was not used for: 12h, 7d, 4w."
)
@click.option("--all", "everything", is_flag=True, help="Drop all of them.")
@click.option("--wheels", is_flag=True, help="Empty the cache of downloaded wheels too.")
@click.option("--dry-run", is_flag=True, help="Only say what would be dropped.")
@runtime_options
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Drop images or environments of this tool, the least recently used first, and never anybody else's."""
    from orchestrator.cli.tracker import size  # noqa: PLC0415
    from orchestrator.cli.workshop import open_inventory  # noqa: PLC0415

    if (
        given["max_disk"] is None
        and given["older_than"] is None
        and not given["everything"]
        and not given["wheels"]
    ):
        raise click.UsageError("say what to drop: --max-disk, --older-than, --all or --wheels")
    freed = 0
    with open_inventory(given) as (runtime, wheels):
        held = runtime.held()
        for key in victims(held, given):
            what = f"{held[key].title} [{key[:12]}], {size(held[key].size)}"
            if given["dry_run"]:
                click.echo(f"would drop {what}")
            else:
                gone = runtime.discard(key)
                click.echo(f"dropped {what}" if gone else f"kept {what}: it is in use")
                freed += held[key].size if gone else 0
        if given["wheels"]:
            cached = wheels.size()
            if not given["dry_run"]:
                wheels.clear()
                freed += cached
            click.echo(f"{'would empty' if given['dry_run'] else 'emptied'} the wheel cache, {size(cached)}")
    if not given["dry_run"]:
        click.echo(f"{size(freed)} freed")


def victims(held: Mapping[str, Held], given: Mapping[str, Any]) -> list[str]:
    """Return what is to be dropped, in order."""
    from orchestrator.execute.retention import drop_order, last_used  # noqa: PLC0415

    used = last_used(held)
    total = sum(one.size for one in held.values())
    oldest = None
    if given["older_than"] is not None:
        oldest = datetime.now(UTC) - timedelta(seconds=given["older_than"])
    chosen = []
    for key in drop_order(held, ()):
        too_old = oldest is not None and used[key] < oldest
        too_much = given["max_disk"] is not None and total > given["max_disk"]
        if given["everything"] or too_old or too_much:
            chosen.append(key)
            total -= held[key].size
    return chosen
