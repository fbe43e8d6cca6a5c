"""The straight line from a matrix to its report: choose cells, lock them, run what is not known, judge, infer."""

from __future__ import annotations

import os
import platform
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

from orchestrator.adaptive import Search, seek
from orchestrator.errors import NothingSelectedError
from orchestrator.hybrids import with_causes
from orchestrator.knowledge import Field, survey, with_contents
from orchestrator.matrix import Selection, expand, select
from orchestrator.measure import Options, measure, plan_for
from orchestrator.model import (
    Cell,
    Lock,
    LockedCell,
    Matrix,
    Provenance,
    Report,
    Searched,
    digest,
)
from orchestrator.pinpoint import answer
from orchestrator.resolve import axis_versions
from orchestrator.worth import worthwhile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.pinpoint.prior import Prior
    from orchestrator.workshop import Workshop


def run(shop: Workshop, options: Options, search: Search | None = None, prior: Prior | None = None) -> Report:
    """Measure what is not known yet of the selected cells and answer for all of them.

    With `search`, only the cells are run that its question needs. `prior` is what is believed beforehand.

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
    field = survey(shop, options.selection, cells)
    searched = _measure(shop, options, search, field, everything)
    report = conclude(shop, field, everything, started, searched, prior)
    if search is None or searched is None:
        return report
    # Where several packages under test move together, the series alone cannot tell which of them it takes.
    return replace(
        report,
        series=with_causes(
            shop,
            options,
            field,
            everything,
            report.series,
            search.goal.confidence,
            lambda transition: len(transition.culprit) > 1,
        ),
    )


def conclude(
    shop: Workshop,
    field: Field,
    everything: Sequence[Cell],
    started: datetime,
    searched: Searched | None = None,
    prior: Prior | None = None,
) -> Report:
    """Answer for all cells of a field; `everything` is all cells of the matrix."""
    field = with_contents(shop, field)
    locks = (one.lock for one in field.locked.values() if isinstance(one, LockedCell))
    notices = (*shop.runtime.notices, *shop.devices.notices, *lock_warnings(locks))
    measured = field.measured(shop.matrix)
    return answer(shop.matrix, measured, provenance(shop, started), notices, everything, searched, prior)


def provenance(shop: Workshop, started: datetime) -> Provenance:
    """Return where results come from that are measured here."""
    return Provenance(
        tool=f"matrix-orchestrator {installed('matrix-orchestrator')}",
        matrix=digest(shop.matrix.path.read_text(encoding="utf-8-sig")),
        started=started,
        runtime=shop.runtime.name,
        host=f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} CPUs",
    )


def _measure(
    shop: Workshop, options: Options, search: Search | None, field: Field, everything: Sequence[Cell]
) -> Searched | None:
    """Run what is missing, or what a search asks for."""
    missing = [(one, probes) for one in field.known.values() if (probes := one.missing(options.rerun))]
    if not missing and (search is None or not search.always):
        shop.observer.phase("every result is known already")
        return None
    plan = plan_for(shop, field.known, everything)
    if search is not None and (search.always or worthwhile(shop, search, field, plan)):
        return seek(shop, options, search, field, everything)
    shop.observer.phase(f"measuring {len(missing)} of {len(field.known)} cells, {options.width} at once")
    measure(shop, options, missing, plan)
    return None


def choose(matrix: Matrix, cells: Sequence[Cell], selection: Selection) -> tuple[Cell, ...]:
    """Return the selected cells and, for the report, the excluded ones of their stacks."""
    chosen = {cell.id: cell for cell in select(matrix, cells, selection)}
    stacks = {cell.stack for cell in chosen.values()}
    return tuple(cell for cell in cells if cell.id in chosen or (cell.excluded and cell.stack in stacks))


def lock_warnings(locks: Iterable[Lock]) -> tuple[str, ...]:
    """Return every warning of the cells' locks once, with how many cells it concerns."""
    counts = Counter(warning for lock in locks for warning in lock.warnings)
    return tuple(f"{warning} ({count} cells)" for warning, count in counts.items())
