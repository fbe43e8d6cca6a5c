"""`orchestrator images`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import format_option, runtime_options, store_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.execute.port import Held

FORMAT = 1


@click.command()
@runtime_options
@format_option
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """List the images or environments that are there: what they hold alone and share, and when they were used."""
    from orchestrator.cli.workshop import open_inventory  # noqa: PLC0415

    with open_inventory(given) as (runtime, wheels):
        held = runtime.held()
        cached = wheels.size()
    click.echo(
        json.dumps(_document(held, cached), indent=2) if given["format_"] == "json" else _table(held, cached)
    )


def _table(held: Mapping[str, Held], cached: int) -> str:
    from tabulate import tabulate  # noqa: PLC0415

    from orchestrator.cli.tracker import size  # noqa: PLC0415
    from orchestrator.execute.retention import last_used, standing_on  # noqa: PLC0415

    used = last_used(held)
    children = _children(held)
    rows = []
    for key in _ordered(held):
        below = [at for at in standing_on(held, key)[1:] if at in held]
        shared = sum(held[at].size for at in below)
        title = "| " * len(below) + held[key].title
        rows.append([key[:12], title, size(held[key].size), size(shared), children[key] or "", ago(used[key])])
    total = sum(one.size for one in held.values())
    headers = ["image", "adds", "alone", "stands on", "children", "used"]
    align = ("left", "left", "right", "right", "right", "left")
    table = tabulate(rows, headers=headers, colalign=align, disable_numparse=True)
    summary = f"{len(held)} images hold {size(total)}; {size(cached)} of wheels in the cache"
    return f"{table}\n\n{summary}" if rows else summary


def _document(held: Mapping[str, Held], cached: int) -> dict[str, object]:
    from orchestrator.execute.retention import last_used, standing_on  # noqa: PLC0415

    used = last_used(held)
    return {
        "format": FORMAT,
        "images": [
            {
                "key": key,
                "parent": held[key].parent,
                "base": held[key].base,
                "wheels": [{"name": n, "version": v, "sha256": s} for n, v, s in held[key].wheels],
                "unique": held[key].size,
                "shared": sum(held[at].size for at in standing_on(held, key)[1:] if at in held),
                "used": used[key].isoformat(timespec="seconds"),
            }
            for key in _ordered(held)
        ],
        "wheel_cache": cached,
    }


def _children(held: Mapping[str, Held]) -> dict[str, int]:
    count = dict.fromkeys(held, 0)
    for one in held.values():
        below = one.parent or (one.base if one.base != one.key else "")
        if below in count:
            count[below] += 1
    return count


def _ordered(held: Mapping[str, Held]) -> list[str]:
    """Return the keys with everything after what it stands on, those of one branch together."""
    from orchestrator.execute.retention import standing_on  # noqa: PLC0415

    return sorted(held, key=lambda key: tuple(reversed(standing_on(held, key))))


def ago(moment: datetime) -> str:
    """Write how long ago something was: 5 min ago, 3 h ago, 12 days ago."""
    minutes = int((datetime.now(UTC) - moment).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:  # noqa: PLR2004
        return f"{minutes} min ago"
    if minutes < 48 * 60:
        return f"{minutes // 60} h ago"
    return f"{minutes // 1440} days ago"
