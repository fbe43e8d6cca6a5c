"""Which shard of a matrix measures a cell: the same answer on every machine, from the cells' own values.

Cells that need the same heavy layers are a group and stay together. A group goes to the shard that wins its
rendezvous (the highest hash of group and shard), so that a version that is added moves no other cell.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestrator.matrix.select import Selection
    from orchestrator.model import Cell, Matrix, Stack

MAX_SHARDS = 9999

Labels = frozenset[str]
"""What a runner must have: stacks that name the same labels can share a job."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Shard:
    """One of `count` parts of a matrix; `index` begins with 1."""

    index: int
    count: int

    @property
    def name(self) -> str:
        """A name for files and jobs."""
        return f"{self.index}-of-{self.count}"

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def parse_shard(text: str) -> Shard:
    """Read `3/12`.

    Raises:
        ValueError: it is not written so, or there is no such shard.
    """
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if found is None:
        raise ValueError(f"{text!r} is no shard: write I/N, like 3/12")
    shard = Shard(index=int(found[1]), count=int(found[2]))
    if not 1 <= shard.index <= shard.count:
        raise ValueError(f"{text!r} is no shard: I goes from 1 to N")
    return shard


def assign(matrix: Matrix, cells: Iterable[Cell], selection: Selection, count: int) -> dict[int, tuple[Cell, ...]]:
    """Return the cells of each shard that has any, by its index; the order of the cells is kept.

    `cells` are those that `selection` selects. A cell's shard depends on its own values, on which stacks there are
    and on `count`, never on the other cells.

    Raises:
        ConfigError: there are more kinds of runners than shards.
    """
    shares = _shares(matrix, selection, count)
    won: dict[tuple[Labels, str], int] = {}
    found: dict[int, list[Cell]] = {}
    for cell in cells:
        labels = frozenset(matrix.stacks[cell.stack].runner)
        rivals = labels, group(matrix, cell)
        if rivals not in won:
            won[rivals] = _winner(rivals[1], shares[labels])
        found.setdefault(won[rivals], []).append(cell)
    return {index: tuple(found[index]) for index in sorted(found)}


def group(matrix: Matrix, cell: Cell) -> str:
    """Return the name of what a cell stands on: Python, its base, and the package that is declared first.

    What is declared first in `packages` is taken for the heaviest: nothing is resolved here, so no size is known.
    """
    first = foundation(matrix, cell)
    parts = [cell.device.value, matrix.base(cell).key, first, str(cell.requires[first])]
    return json.dumps(parts)


def foundation(matrix: Matrix, cell: Cell) -> str:
    """Return the package under test of a cell that `packages` declares first."""
    return next(name for name in matrix.packages if name in cell.requires)


def in_question(matrix: Matrix, selection: Selection) -> tuple[Stack, ...]:
    """Return the stacks that a selection can have cells of, judged without looking at any cell."""
    asked = {
        stack
        for issue in matrix.issues.values()
        if not selection.issues or issue.id in selection.issues
        for stack in issue.subjects
    }
    return tuple(
        stack
        for name, stack in matrix.stacks.items()
        if name in asked and (not selection.stacks or name in selection.stacks)
    )


def _shares(matrix: Matrix, selection: Selection, count: int) -> Mapping[Labels, Sequence[int]]:
    """Divide the shards among the kinds of runners: one for each, the rest by how many stacks a kind has.

    By stacks and not by cells: a version that is added must not change who has which shard.
    """
    weights: dict[Labels, int] = {}
    for stack in in_question(matrix, selection):
        labels = frozenset(stack.runner)
        weights[labels] = weights.get(labels, 0) + 1
    if len(weights) > count:
        room = "1 shard" if count == 1 else f"{count} shards"
        raise ConfigError(
            f"the stacks need {len(weights)} kinds of runners, more than there can be in {room}",
            hint="allow more shards, or select fewer stacks with --stack",
        )
    total, spare = sum(weights.values()), count - len(weights)
    numbers = {labels: 1 + spare * weight // total for labels, weight in weights.items()}
    # What rounding leaves over goes to those that lost most by it; among equals to the first in the file.
    by_loss = sorted(weights, key=lambda labels: -(spare * weights[labels] % total))
    for labels in by_loss[: count - sum(numbers.values())]:
        numbers[labels] += 1
    shares: dict[Labels, range] = {}
    first = 1
    for labels, number in numbers.items():
        shares[labels] = range(first, first + number)
        first += number
    return shares


def _winner(group: str, shards: Sequence[int]) -> int:
    return max(shards, key=lambda index: hashlib.sha256(f"{index}\n{group}".encode()).digest())
