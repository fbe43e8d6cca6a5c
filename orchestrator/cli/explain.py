"""`orchestrator explain`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import cell_argument, matrix_and_cell, runtime_options, store_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.execute.port import Plan
    from orchestrator.model import Cell, LockedCell, Matrix
    from orchestrator.workshop import Workshop


@click.command()
@cell_argument
@runtime_options
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Say why CELL exists or not, what is locked in it, how it is built, and the exact command that runs it."""
    from orchestrator.cli.workshop import open_workshop  # noqa: PLC0415
    from orchestrator.config import load  # noqa: PLC0415
    from orchestrator.execute.progress import Silent  # noqa: PLC0415

    path, name = matrix_and_cell(given["target"])
    matrix = load(path)
    with open_workshop(given, matrix, Silent()) as shop:
        for line in _explain(shop, name):
            click.echo(line)


def _explain(shop: Workshop, name: str) -> Iterator[str]:
    from orchestrator.matrix import expand, find  # noqa: PLC0415
    from orchestrator.model import Unresolvable  # noqa: PLC0415
    from orchestrator.resolve import axis_versions  # noqa: PLC0415

    cells = expand(shop.matrix, axis_versions(shop.matrix, shop.resolver.pages))
    cell = find(cells, name)
    yield from _existence(shop.matrix, cell)
    if cell.excluded is not None:
        return
    if (reason := shop.devices.missing(shop.matrix.stacks[cell.stack].device)) is not None:
        yield f"not run on this host: {reason}"
    (locked,) = shop.resolve([cell])
    if isinstance(locked, Unresolvable):
        yield f"{'not resolved' if locked.transient else 'unresolvable'}: {locked.reason}"
        return
    yield from _lock(locked)
    yield from _making(shop, cells, locked)


def _existence(matrix: Matrix, cell: Cell) -> Iterator[str]:
    stack = matrix.stacks[cell.stack]
    axes = ", ".join(f"{name} {version}" for name, version in cell.versions.items())
    yield f"{cell.id}"
    yield f"  stack {cell.stack} ({cell.device}), Python {cell.python}, axes: {axes}"
    for companion in stack.companions:
        required = cell.requires.get(companion.package)
        if required is not None:
            yield f"  {companion.package} follows {companion.follows}: {required}"
    if cell.excluded is not None:
        yield f"  excluded: {cell.excluded}"
        return
    issues = [issue.id for issue in matrix.issues.values() if cell.stack in issue.subjects]
    yield f"  asked about by: {', '.join(issues) or 'no issue, so it is never run'}"


def _lock(locked: LockedCell) -> Iterator[str]:
    lock = locked.lock
    moment = f"as of {lock.as_of:%Y-%m-%d}" if lock.as_of else "as of the day it was resolved"
    yield f"lock {lock.digest[:12]}: {len(lock.distributions)} distributions for {lock.platform}, {moment}"
    for found in lock.distributions:
        yield f"  {found.name}=={found.version}  from {found.index}  sha256:{found.sha256}"
    for warning in lock.warnings:
        yield f"  warning: {warning}"


def _making(shop: Workshop, cells: Sequence[Cell], locked: LockedCell) -> Iterator[str]:
    from orchestrator.knowledge import probes_of  # noqa: PLC0415
    from orchestrator.matrix import Selection  # noqa: PLC0415
    from orchestrator.measure import job_for  # noqa: PLC0415

    candidates = shop.lock_candidates(cells, [locked])
    plan = shop.plan(candidates)
    chain = plan.chain(locked.lock.digest)
    yield from _layers(shop, plan, locked, candidates)
    for step in chain:
        yield f"layer {step.key[:12]}:"
        yield from (f"  {line}" for line in shop.runtime.recipe(step).rstrip().splitlines())
    probes = probes_of(shop.matrix, locked.cell, Selection())
    job = job_for(shop, locked.cell, locked.lock, probes, attempt=f"{locked.cell.id}-explained")
    job = replace(job, grant=shop.devices.preview(locked.cell.device))
    yield "command:"
    yield f"  {shlex.join(shop.runtime.command(job, chain[-1]))}"


def _layers(shop: Workshop, plan: Plan, locked: LockedCell, candidates: Sequence[LockedCell]) -> Iterator[str]:
    """Say which layers make the cell, who shares them, and what the missing ones cost."""
    from orchestrator.cli.tracker import count, seconds, size  # noqa: PLC0415
    from orchestrator.planning.outlook import outlook  # noqa: PLC0415

    view = outlook(plan, {locked.cell.id: locked.lock}, shop.runtime.held(), seconds=shop.pace.estimate(), width=1)
    chains = [{step.key for step in plan.chain(one.lock.digest)} for one in candidates]
    yield f"{count(len(view.steps), 'layer')}, planned over {count(len(candidates), 'cell')}:"
    for one in view.steps:
        sharing = sum(one.step.key in chain for chain in chains) - 1
        there = f"there, {size(one.stored)}" if one.ready else f"missing, about {size(one.stored)}"
        others = f", shared with {count(sharing, 'other cell')}" if sharing else ""
        yield f"  {one.step.key[:12]} {one.step.title}: {there}{others}"
    if view.missing:
        yield f"  to build: at most {size(view.download)} to download, about {seconds(view.seconds)}"
