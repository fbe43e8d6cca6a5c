"""`orchestrator list`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import matrix_argument, selection_of, selection_options, store_option
from orchestrator.model import VersionRange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orchestrator.matrix import AxisVersions
    from orchestrator.model import Cell, Matrix


@click.command()
@matrix_argument
@selection_options
@click.option("--all", "everything", is_flag=True, help="Also the cells that are excluded or not selected.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "ids", "json", "github"]),
    default="table",
    show_default=True,
    help="github: shards as the jobs of a workflow, a line for $GITHUB_OUTPUT.",
)
@click.option(
    "--max-jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    help="With --format github: into how many shards the cells are divided at most.  [default: 256]",
)
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """List the cells of MATRIX that a run would measure."""
    from orchestrator.config import load  # noqa: PLC0415
    from orchestrator.errors import NothingSelectedError  # noqa: PLC0415
    from orchestrator.matrix import MAX_JOBS, ci_jobs, expand, github_output, select  # noqa: PLC0415

    as_jobs = given["format_"] == "github"
    if not as_jobs and given["max_jobs"] is not None:
        raise click.UsageError("--max-jobs is for --format github")
    if as_jobs and given["everything"]:
        raise click.UsageError("--all is for lists of cells: there are no jobs for those that are not run")
    matrix = load(given["matrix"])
    cells = expand(matrix, _axis_versions(matrix, given["store"].absolute() / "cache"))
    selection = selection_of(given)
    chosen = select(matrix, cells, selection)
    shown = cells if given["everything"] else chosen
    if not shown:
        raise NothingSelectedError(
            "no cell is selected", hint="`orchestrator list --all` shows every cell and why"
        )
    if as_jobs:
        click.echo(github_output(ci_jobs(matrix, chosen, selection, given["max_jobs"] or MAX_JOBS)))
        return
    click.echo(_render(given["format_"], matrix, shown, {cell.id for cell in chosen}))


def _axis_versions(matrix: Matrix, cache: Path) -> AxisVersions:
    """Read the versions of ranges; a matrix without any needs no index, and nothing that can ask one."""
    axes = (axis for stack in matrix.stacks.values() for axis in stack.axes)
    if not any(isinstance(axis.versions, VersionRange) for axis in axes):
        return {}
    from orchestrator.bundle import bundled  # noqa: PLC0415
    from orchestrator.resolve import Pages, axis_versions  # noqa: PLC0415

    return axis_versions(matrix, Pages(cache / "index", matrix.indexes, offline=bundled(cache) is not None))


def _render(format_: str, matrix: Matrix, cells: Sequence[Cell], chosen: set[str]) -> str:
    if format_ == "ids":
        return "\n".join(cell.id for cell in cells)
    if format_ == "json":
        return json.dumps([_entry(cell, chosen) for cell in cells], indent=2)
    from tabulate import tabulate  # noqa: PLC0415

    rows = [
        [_mark(cell, chosen), cell.id, cell.device.value, _versions(cell), cell.excluded or ""] for cell in cells
    ]
    if not any(cell.excluded for cell in cells):
        rows = [row[:-1] for row in rows]
    table = tabulate(rows, headers=["", "cell", "device", "versions", "excluded because"][: len(rows[0])])
    issues = len(
        {issue for issue in matrix.issues if any(c.stack in matrix.issues[issue].subjects for c in cells)}
    )
    return f"{table}\n\n{len(chosen)} of {len(cells)} cells selected, {issues} issues ask about them"


def _mark(cell: Cell, chosen: set[str]) -> str:
    return "*" if cell.id in chosen else "-"


def _versions(cell: Cell) -> str:
    pairs = [f"{name} {str(spec).removeprefix('==')}" for name, spec in cell.requires.items()]
    return ", ".join(pairs)


def _entry(cell: Cell, chosen: set[str]) -> dict[str, object]:
    return {
        "id": cell.id,
        "stack": cell.stack,
        "device": cell.device.value,
        "python": cell.python,
        "versions": {name: str(version) for name, version in cell.versions.items()},
        "requires": {name: str(specifier) for name, specifier in cell.requires.items()},
        "selected": cell.id in chosen,
        "excluded": cell.excluded,
    }
