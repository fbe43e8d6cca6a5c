"""`orchestrator plan`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import (
    cell_options,
    format_option,
    jobs_option,
    selection_of,
    width_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestrator.planning.outlook import Outlook, PlannedStep

FORMAT = 1


@click.command()
@cell_options
@jobs_option
@format_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Show the layers that the cells of MATRIX share: what is there, what is missing, and what it costs."""
    from orchestrator.cli.board import board  # noqa: PLC0415
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.workshop import open_workshop  # noqa: PLC0415
    from orchestrator.config import load  # noqa: PLC0415
    from orchestrator.planning.outlook import outlook  # noqa: PLC0415
    from orchestrator.prospect import prospect  # noqa: PLC0415

    matrix = load(given["matrix"])
    width = width_of(given["jobs"])
    _, err = consoles("auto")
    with board(err, width) as observer, open_workshop(given, matrix, observer) as shop:
        seen = prospect(shop, selection_of(given))
        cells = {one.cell.id: one.lock for one in seen.selected}
        view = outlook(seen.plan, cells, shop.runtime.held(), seconds=shop.pace.estimate(), width=width)
    if given["format_"] == "json":
        click.echo(json.dumps(_document(view, seen.impossible), indent=2))
        return
    for line in _lines(view, seen.impossible, width):
        click.echo(line)


def _lines(view: Outlook, impossible: dict[str, str], width: int) -> Iterator[str]:
    from tabulate import tabulate  # noqa: PLC0415

    from orchestrator.cli.tracker import count, seconds, size  # noqa: PLC0415

    rows = [
        [
            one.step.key[:12],
            "| " * one.depth + one.step.title,
            "yes" if one.ready else "",
            size(one.step.size),
            size(one.stored) if one.ready else f"~ {size(one.stored)}",
            _cells(one),
        ]
        for one in view.steps
    ]
    headers = ["layer", "adds", "there", "wheels", "on disk", "cells"]
    align = ("left", "left", "left", "right", "right", "left")
    yield tabulate(rows, headers=headers, colalign=align, disable_numparse=True)
    yield ""
    total = sum(len(one.cells) for one in view.steps)
    yield (
        f"{count(len(view.steps), 'layer')} for {count(total, 'cell')}: about {size(view.stored)} on disk, "
        f"{size(view.apart)} if nothing were shared"
    )
    yield f"wheels in layers: {size(view.wheels)}; every plan needs at least {size(view.least)}"
    if missing := view.missing:
        yield (
            f"{len(missing)} to build: at most {size(view.download)} to download, "
            f"about {seconds(view.seconds)} with {width} at once"
        )
    else:
        yield "everything is there"
    for reason, cells in _by_reason(impossible).items():
        yield f"not possible here: {cells[0]}{f' and {len(cells) - 1} more' if cells[1:] else ''}: {reason}"


def _by_reason(impossible: dict[str, str]) -> dict[str, list[str]]:
    cells: dict[str, list[str]] = {}
    for cell, reason in impossible.items():
        cells.setdefault(reason, []).append(cell)
    return cells


def _cells(one: PlannedStep) -> str:
    first = one.cells[0] if one.cells else ""
    return first if len(one.cells) < 2 else f"{first} and {len(one.cells) - 1} more"  # noqa: PLR2004


def _document(view: Outlook, impossible: dict[str, str]) -> dict[str, object]:
    return {
        "format": FORMAT,
        "steps": [
            {
                "key": one.step.key,
                "parent": one.step.parent,
                "base": one.step.base.digest,
                "platform": one.step.platform,
                "wheels": [
                    {"name": d.name, "version": str(d.version), "sha256": d.sha256, "size": d.size}
                    for d in one.step.distributions
                ],
                "ready": one.ready,
                "stored": one.stored,
                "cells": list(one.cells),
            }
            for one in view.steps
        ],
        "stored": view.stored,
        "apart": view.apart,
        "wheels": view.wheels,
        "least_wheels": view.least,
        "download": view.download,
        "seconds": round(view.seconds, 1),
        "impossible": impossible,
    }
