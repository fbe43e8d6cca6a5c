"""The left half of a run on one of several machines: choose the cells of a shard, measure them, leave the rest."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError, NothingSelectedError
from orchestrator.execute.runner import runner_digest
from orchestrator.knowledge import survey
from orchestrator.matrix import assign, expand, select
from orchestrator.measure import measure, plan_for
from orchestrator.part import Found, Part
from orchestrator.pipeline import provenance
from orchestrator.resolve import axis_versions
from orchestrator.results import ReuseKeys
from orchestrator.transfer import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orchestrator.knowledge import Field
    from orchestrator.matrix import Shard
    from orchestrator.measure import Options
    from orchestrator.pinpoint.prior import Prior
    from orchestrator.workshop import Workshop


def run_shard(shop: Workshop, options: Options, shard: Shard, prior: Prior) -> Part:
    """Measure what is not known yet of a shard's cells; nothing is inferred from them.

    Raises:
        NothingSelectedError: no cell is selected at all; a shard may well have none.
        ConfigError: the shards cannot be divided among the kinds of runners.
    """
    started = datetime.now(UTC)
    matrix, selection = shop.matrix, options.selection
    versions = axis_versions(matrix, shop.resolver.pages)
    everything = expand(matrix, versions)
    chosen = select(matrix, everything, selection)
    if not chosen:
        raise NothingSelectedError(
            "no cell is selected", hint="`orchestrator list --all` shows every cell and why"
        )
    mine = assign(matrix, chosen, selection, shard.count).get(shard.index, ())
    field = survey(shop, selection, mine)
    missing = [(one, probes) for one in field.known.values() if (probes := one.missing(options.rerun))]
    if missing:
        shop.observer.phase(
            f"shard {shard}: measuring {len(missing)} of {len(mine)} cells, {options.width} at once"
        )
        # Other shards' cells are locked only where layers are shared through a registry: there they must get the
        # names that every machine gives them.
        plan = plan_for(shop, field.known, everything if matrix.registry else mine)
        measure(shop, options, missing, plan)
    elif mine:
        shop.observer.phase(f"shard {shard}: every result is known already")
    else:
        shop.observer.phase(f"shard {shard} has no cells: others measure what is selected")
    return Part(
        shard=shard,
        provenance=provenance(shop, started),
        probes=probe_digests(matrix.probes),
        selection=selection,
        prior=prior,
        matrix=matrix,
        found=tuple(Found(stack=s, axis=a, versions=found) for (s, a), found in versions.items()),
        notices=(*shop.runtime.notices, *shop.devices.notices),
        measured=field.measured(matrix),
        records=tuple(_records(shop, field)),
    )


def probe_digests(probes: Path) -> dict[str, str]:
    """Return the SHA-256 of every probe file and of what those may lean on, by path.

    Raises:
        ConfigError: one cannot be read.
    """
    files = sorted(path for pattern in ("*.py", "*.ini", "*.toml", "*.cfg") for path in probes.rglob(pattern))
    try:
        return {
            path.relative_to(probes).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if path.is_file()
        }
    except OSError as error:
        raise ConfigError(f"cannot read the probes in {probes}: {error.strerror}") from None


def _records(shop: Workshop, field: Field) -> Iterator[Record]:
    keys = ReuseKeys(shop.matrix, runner=runner_digest)
    for one in field.known.values():
        if one.attempts:
            yield Record(
                cell=one.cell.id,
                environment=keys.environment(one.lock, one.base.digest),
                probes=keys.probes(one.cell, one.probes),
                attempts=tuple(dict.fromkeys(attempt.origin.attempt for attempt in one.attempts)),
            )
