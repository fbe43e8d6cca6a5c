"""A matrix as the jobs of a CI workflow: one for each shard that has cells, within GitHub's limits."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError
from orchestrator.execute.port import deadline
from orchestrator.matrix.select import asked
from orchestrator.matrix.shards import Shard, assign, foundation, group

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.matrix.select import Selection
    from orchestrator.model import Cell, Matrix

MAX_JOBS = 256
"""Jobs that one matrix may make (https://docs.github.com/actions/reference/limits)."""

MAX_OUTPUT = 1_000_000
"""Bytes of a job's outputs, counted as UTF-16 (same page; 1 MB, read as the smaller of its two meanings)."""

HOSTED_LIMIT = 360
"""Minutes after which GitHub ends a job on its own runners."""

_SETUP = 15
"""Minutes that a job may take besides its cells: checkout, installation, the base image."""

_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CiJob:
    """A shard as a job: where it runs, how many minutes it may take, how many cells it measures."""

    shard: Shard
    runner: tuple[str, ...]
    timeout: int
    cells: int
    name: str
    """For people: the stacks, and what their cells stand on."""


def ci_jobs(matrix: Matrix, cells: Sequence[Cell], selection: Selection, most: int) -> tuple[CiJob, ...]:
    """Return the jobs that measure the selected cells, at most so many.

    Raises:
        ConfigError: there are more kinds of runners than jobs.
    """
    return tuple(
        CiJob(
            shard=Shard(index=index, count=most),
            runner=matrix.stacks[mine[0].stack].runner,
            timeout=_minutes(matrix, mine, selection),
            cells=len(mine),
            name=_name(matrix, mine),
        )
        for index, mine in assign(matrix, cells, selection, most).items()
    )


def github_output(jobs: Iterable[CiJob]) -> str:
    """Return the line for `$GITHUB_OUTPUT` that a job's `strategy.matrix` is read from.

    Raises:
        ConfigError: GitHub would not take it.
    """
    include = [
        {
            "id": job.shard.name,
            "shard": str(job.shard),
            "runner": list(job.runner),
            "timeout": job.timeout,
            "cells": job.cells,
            "name": job.name,
        }
        for job in jobs
    ]
    if len(include) > MAX_JOBS:
        raise ConfigError(f"{len(include)} jobs are more than the {MAX_JOBS} that GitHub runs", hint="--max-jobs")
    line = f"matrix={json.dumps({'include': include}, separators=(',', ':'))}"
    if (size := len(line.encode("utf-16-le"))) > MAX_OUTPUT:
        raise ConfigError(
            f"the jobs take {size} bytes as UTF-16, more than the {MAX_OUTPUT} that GitHub passes on",
            hint="lower --max-jobs, or shorten the labels of the runners",
        )
    return line


def _minutes(matrix: Matrix, cells: Sequence[Cell], selection: Selection) -> int:
    """Return how long a job may take: as its stacks say, the longest; else until all its cells' own limits end.

    Worked out, it is one build for each group and each stack in it, and every attempt to its deadline, one after
    the other; at most what GitHub gives hosted runners.
    """
    stated = [matrix.stacks[name].job_timeout for name in dict.fromkeys(cell.stack for cell in cells)]
    known = [seconds for seconds in stated if seconds is not None]
    if len(known) == len(stated):
        return math.ceil(max(known) / 60)
    builds = len({(group(matrix, cell), cell.stack) for cell in cells}) * matrix.limits.build_timeout
    attempts = sum(
        deadline(
            matrix.limits,
            modules=len(cell.requires),
            probes=len({probe for issue in asked(matrix, cell, selection) for probe in issue.probes}),
        )
        for cell in cells
    )
    derived = min(_SETUP + math.ceil((builds + attempts) / 60), HOSTED_LIMIT)
    return max([derived, *(math.ceil(seconds / 60) for seconds in known)])


def _name(matrix: Matrix, cells: Sequence[Cell]) -> str:
    """Name the stacks and what their cells stand on: "torch-cpu, torchao-cpu: torch 2.5.1, 2.8.0"."""
    stacks = ", ".join(dict.fromkeys(cell.stack for cell in cells))
    stands: dict[str, dict[str, None]] = {}
    for cell in cells:
        first = foundation(matrix, cell)
        stands.setdefault(first, {})[str(cell.requires[first]).removeprefix("==")] = None
    packages = "; ".join(f"{package} {', '.join(versions)}" for package, versions in stands.items())
    name = f"{stacks}: {packages}"
    return name if len(name) <= _NAME else f"{name[: _NAME - 3].rstrip(' ,;:')}..."
