"""The straight line from a matrix to its report: choose cells, lock them, run what is not known, judge, infer."""

from __future__ import annotations

import os
import platform
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

from orchestrator.errors import NothingSelectedError
from orchestrator.execute.devices import missing
from orchestrator.execute.runner import runner_digest
from orchestrator.matrix import Selection, asked, expand, select
from orchestrator.measure import Known, Options, measure
from orchestrator.model import (
    Cell,
    Import,
    LockedCell,
    Matrix,
    Outcome,
    ProbeResult,
    Provenance,
    Report,
    Unresolvable,
    digest,
)
from orchestrator.pinpoint import Measured, answer
from orchestrator.resolve import axis_versions
from orchestrator.results import ReuseKeys, blanket, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestrator.workshop import Workshop

_LOG_LINES = 20


def run(shop: Workshop, options: Options) -> Report:
    """Measure what is not known yet of the selected cells and answer for all of them.

    Raises:
        NothingSelectedError: there is no such cell.
    """
    started = datetime.now(UTC)
    everything = expand(shop.matrix, axis_versions(shop.matrix, shop.resolver.pages))
    cells = choose(shop.matrix, everything, options.selection)
    if not cells:
        raise NothingSelectedError(
            "no cell is selected", hint="`orchestrator list --all` shows every cell and why"
        )
    absent = {
        stack: why for stack in {c.stack for c in cells} if (why := _no_device(shop.matrix, stack)) is not None
    }
    here = [cell for cell in cells if cell.excluded is None and cell.stack not in absent]
    shop.observer.phase(f"resolving {len(here)} cells")
    locked = {one.cell.id: one for one in shop.resolver.resolve(here)}
    known = _recall(shop, options, [one for one in locked.values() if isinstance(one, LockedCell)])
    measure(shop, options, known, everything)
    measured = [
        _measured(shop.matrix, options.selection, cell, absent.get(cell.stack), locked.get(cell.id), known)
        for cell in cells
    ]
    provenance = Provenance(
        tool=f"matrix-orchestrator {installed('matrix-orchestrator')}",
        matrix=digest(shop.matrix.path.read_text(encoding="utf-8-sig")),
        started=started,
        runtime=shop.runtime.name,
        host=f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} CPUs",
    )
    notices = (*shop.runtime.notices, *_warnings(locked.values()))
    return answer(shop.matrix, measured, provenance, notices, everything)


def choose(matrix: Matrix, cells: Sequence[Cell], selection: Selection) -> tuple[Cell, ...]:
    """Return the selected cells and, for the report, the excluded ones of their stacks."""
    chosen = {cell.id: cell for cell in select(matrix, cells, selection)}
    stacks = {cell.stack for cell in chosen.values()}
    return tuple(cell for cell in cells if cell.id in chosen or (cell.excluded and cell.stack in stacks))


def probes_of(matrix: Matrix, cell: Cell, selection: Selection) -> tuple[str, ...]:
    """Return the probes that the selected issues need in a cell, each once, in the order of the matrix."""
    return tuple(dict.fromkeys(probe for issue in asked(matrix, cell, selection) for probe in issue.probes))


def _recall(shop: Workshop, options: Options, locked: Sequence[LockedCell]) -> dict[str, Known]:
    """Read what the store knows of each cell."""
    keys = ReuseKeys(shop.matrix, runner=runner_digest)
    bases = shop.bases(one.cell.python for one in locked)
    known = {}
    for one in locked:
        base = bases[one.cell.python]
        probes = probes_of(shop.matrix, one.cell, options.selection)
        found = shop.store.lookup(keys.environment(one.lock, base.digest), keys.probes(one.cell, probes))
        known[one.cell.id] = Known(
            cell=one.cell,
            lock=one.lock,
            base=base,
            probes=probes,
            results={probe: recorded.result for probe, recorded in found.items()},
            imports={seen.package: seen for recorded in found.values() for seen in recorded.imports},
        )
    return known


def _measured(
    matrix: Matrix,
    selection: Selection,
    cell: Cell,
    no_device: str | None,
    locked: LockedCell | Unresolvable | None,
    known: Mapping[str, Known],
) -> Measured:
    """Judge every issue that asks about a cell."""
    if cell.excluded is not None:
        return Measured(cell=cell)
    probes = probes_of(matrix, cell, selection)
    lock = None
    imports: Mapping[str, Import] = {}
    reason = None
    if no_device is not None:
        results = blanket(probes, Outcome.NO_DEVICE, reason := no_device)
    elif isinstance(locked, Unresolvable):
        outcome = Outcome.INFRA if locked.transient else Outcome.UNRESOLVABLE
        results = blanket(probes, outcome, reason := locked.reason)
    else:
        one = known[cell.id]
        lock, imports = one.lock, one.imports
        results = {**blanket(probes, Outcome.NOT_RUN, "the run was stopped before"), **one.results}
    return Measured(
        cell=cell,
        lock=lock,
        git_versions={name: seen.git_version for name, seen in imports.items()},
        judgements={issue.id: judge(issue, results) for issue in asked(matrix, cell, selection)},
        reason=reason if reason is not None else _common_reason(results.values()),
        log=_build_log(results.values()),
    )


def _common_reason(results: Iterable[ProbeResult]) -> str | None:
    """Return why nothing could run in a cell: the signature that all its results share."""
    signatures = {result.signature for result in results if result.outcome is not Outcome.PASS}
    return signatures.pop() if len(signatures) == 1 else None


def _build_log(results: Iterable[ProbeResult]) -> tuple[str, ...]:
    """Return the end of what was printed while a cell's environment was made, where that is why nothing ran."""
    failed = (r.message for r in results if r.outcome is Outcome.BUILD_FAILED and r.message)
    return tuple(next(failed, "").splitlines()[1:][-_LOG_LINES:])


def _no_device(matrix: Matrix, stack: str) -> str | None:
    return missing(matrix.stacks[stack].device)


def _warnings(locked: Iterable[LockedCell | Unresolvable]) -> tuple[str, ...]:
    """Return every warning of the locks once, with how many cells it concerns."""
    counts = Counter(warning for one in locked if isinstance(one, LockedCell) for warning in one.lock.warnings)
    return tuple(f"{warning} ({count} cells)" for warning, count in counts.items())
