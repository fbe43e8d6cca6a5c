"""The right half of a run: what shards measured, joined, answered for as a whole, and kept in one store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError
from orchestrator.knowledge import Field
from orchestrator.matrix import Shard, assign, expand, select
from orchestrator.model import Report
from orchestrator.part import read_part
from orchestrator.pinpoint import answer
from orchestrator.pipeline import choose, lock_warnings
from orchestrator.results import Store
from orchestrator.runs import save
from orchestrator.transfer import carry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from orchestrator.matrix import AxisVersions, Selection
    from orchestrator.model import Cell, Fingerprint, Matrix, Provenance
    from orchestrator.part import Part
    from orchestrator.pinpoint import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a merge came to: the report of all shards, and those that are not among them."""

    report: Report
    shards: tuple[Shard, ...]
    missing: Mapping[int, int]
    """By the index of a shard that has cells and is not there: how many."""
    new: int
    """Attempts that the store did not have."""


def merge(directories: Sequence[Path], root: Path) -> Merged:
    """Join what shards left in directories into the store at `root`, and keep the report there as a run.

    The order of the directories does not matter, and merging them once more changes nothing. Of two that hold the
    same shard, the one that began later tells what was measured; the results of both are kept.

    Raises:
        ConfigError: a directory is no shard's, or the shards are not of one matrix, selection and number.
        EnvironmentUnusableError: the disk does not take it.
    """
    read = [(directory, read_part(directory)) for directory in dict.fromkeys(directories)]
    _check(read)
    latest = _latest(part for _, part in read)
    one = latest[0]
    matrix, selection = one.matrix, one.selection
    everything = expand(matrix, _versions(latest))
    cells = choose(matrix, everything, selection)
    measured = _measured(matrix, selection, cells, latest)
    new = carry([(Store(directory), record) for directory, part in read for record in part.records], Store(root))
    missing = _missing(matrix, everything, latest)
    notices = (
        *dict.fromkeys(notice for part in latest for notice in part.notices),
        *lock_warnings(each.lock for each in measured if each.lock is not None),
        *_absent_shards(missing, one.shard.count),
        *_disagreements(latest),
        *_mixed(measured),
    )
    report = answer(matrix, measured, _provenance(latest), notices, everything, None, one.prior)
    return Merged(report=save(root, report), shards=tuple(part.shard for part in latest), missing=missing, new=new)


def _check(read: Sequence[tuple[Path, Part]]) -> None:
    """Refuse parts that do not belong together."""
    if not read:
        raise ConfigError("there is nothing to merge", hint="name the directories that the shards left")
    first, one = read[0]
    for directory, part in read[1:]:
        differs = {
            "is a shard of another matrix.yaml": one.provenance.matrix != part.provenance.matrix,
            "was measured with other probes": one.probes != part.probes,
            "was measured by another version of this program": one.provenance.tool != part.provenance.tool,
            "is of another selection of cells": one.selection != part.selection,
            f"is one of {part.shard.count} shards, not of {one.shard.count}": one.shard.count != part.shard.count,
            "was told something else of how often probes lie (--flakes)": one.prior != part.prior,
        }
        if why := [reason for reason, true in differs.items() if true]:
            raise ConfigError(
                f"{directory} does not belong with {first}: it {' and '.join(why)}",
                hint="merge the shards of one run: the same commit, options and number of shards",
            )


def _latest(parts: Iterable[Part]) -> list[Part]:
    """Return one part for each shard, by index: the one that began last."""
    found: dict[Shard, Part] = {}
    for part in sorted(parts, key=_began):
        found[part.shard] = part
    return [found[shard] for shard in sorted(found)]


def _began(part: Part) -> tuple[float, list[str]]:
    started = part.provenance.started
    # Of two that began at once, which happens in tests only, the choice must not depend on the order given.
    return started.timestamp() if started else 0.0, [a for record in part.records for a in record.attempts]


def _versions(parts: Sequence[Part]) -> AxisVersions:
    """Return all versions that any shard found for a range: an index may have changed meanwhile."""
    keys = dict.fromkeys(key for part in parts for key in part.versions)
    return {
        key: tuple(sorted({version for part in parts for version in part.versions.get(key, ())})) for key in keys
    }


def _measured(
    matrix: Matrix, selection: Selection, cells: Sequence[Cell], parts: Sequence[Part]
) -> tuple[Measured, ...]:
    """Return what was measured of the cells, in their order; of those that no part has, that nothing was."""
    known = {one.cell.id: one for part in parts for one in part.measured}
    rest = tuple(cell for cell in cells if cell.id not in known)
    unknown = Field(selection=selection, cells=rest, absent={}, locked={}, known={}).measured(matrix)
    every = known | {one.cell.id: one for one in unknown}
    return tuple(replace(every[cell.id], cell=cell) for cell in cells)


def _missing(matrix: Matrix, everything: Sequence[Cell], parts: Sequence[Part]) -> dict[int, int]:
    one = parts[0]
    chosen = select(matrix, everything, one.selection)
    there = {part.shard.index for part in parts}
    assigned = assign(matrix, chosen, one.selection, one.shard.count)
    return {index: len(cells) for index, cells in assigned.items() if index not in there}


def _absent_shards(missing: Mapping[int, int], count: int) -> tuple[str, ...]:
    if not missing:
        return ()
    them = ", ".join(f"{index}/{count}" for index in missing)
    return (f"not merged: {'shard' if len(missing) == 1 else 'shards'} {them} with {sum(missing.values())} cells",)


def _disagreements(parts: Sequence[Part]) -> tuple[str, ...]:
    """Say where an index changed while the shards ran."""
    keys = dict.fromkeys(key for part in parts for key in part.versions)
    differing = [
        f"{axis} of {stack}"
        for stack, axis in keys
        if len({part.versions.get((stack, axis)) for part in parts}) > 1
    ]
    return (f"the shards found different versions on the indexes: {', '.join(differing)}",) if differing else ()


def _mixed(measured: Iterable[Measured]) -> tuple[str, ...]:
    """Say which stacks were measured on more than one kind of device or system: their cells need not agree."""
    of_stack: dict[str, Counter[str]] = {}
    for one in measured:
        if one.origin is not None and (kind := one.origin.fingerprint) is not None:
            of_stack.setdefault(one.cell.stack, Counter())[_words(kind)] += 1
    return tuple(
        f"{stack} was measured on hosts that differ: "
        + "; ".join(f"{kind} ({number} cells)" for kind, number in counts.items())
        for stack, counts in of_stack.items()
        if len(counts) > 1
    )


def _words(kind: Fingerprint) -> str:
    return ", ".join(part for part in (kind.device, kind.driver, kind.firmware, kind.system) if part)


def _provenance(parts: Sequence[Part]) -> Provenance:
    """Return where the whole comes from: since the first shard began, on every host and runtime there was."""
    sources = [part.provenance for part in parts]
    return replace(
        sources[0],
        started=min((one.started for one in sources if one.started), default=None),
        runtime=_joined(one.runtime for one in sources),
        host=_joined(one.host for one in sources),
    )


def _joined(texts: Iterable[str | None]) -> str | None:
    return "; ".join(dict.fromkeys(text for text in texts if text)) or None
