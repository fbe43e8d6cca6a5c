"""How much of the matrix was measured, and why not the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import Outcome
from orchestrator.report import words
from orchestrator.report.grid import without_device

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.model import CellRow, Device, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Counts of cells: those to be run, those in which probes ran, what became of the others, the excluded."""

    cells: int
    measured: int
    excluded: int
    unmeasured: Mapping[Outcome, int]


def coverage(rows: Iterable[CellRow]) -> Coverage:
    """Count the cells of a report."""
    rows = tuple(rows)
    outcomes = Counter(row.outcome for row in rows if not row.excluded)
    return Coverage(
        cells=outcomes.total(),
        measured=outcomes[None],
        excluded=sum(row.excluded for row in rows),
        unmeasured={outcome: outcomes[outcome] for outcome in Outcome if outcome in outcomes},
    )


def sentence(counts: Coverage) -> str:
    """Return coverage as a sentence: "17 of 31 cells measured; 14 no device"."""
    parts = [f"{counts.measured} of {words.plural(counts.cells, 'cell')} measured"]
    parts += [f"{count} {words.outcome(outcome)}" for outcome, count in counts.unmeasured.items()]
    if counts.excluded:
        parts.append(f"{counts.excluded} excluded by the matrix")
    return "; ".join(parts)


def notices(report: Report) -> tuple[str, ...]:
    """Return what a reader should know besides: missing devices, notes on stacks, what the run had to say."""
    idle: dict[Device, list[str]] = {}
    for stack in without_device(report):
        idle.setdefault(report.stacks[stack].device, []).append(stack)
    missing = [_missing(device, stacks, report.cells) for device, stacks in idle.items()]
    present = {row.stack for row in report.cells}
    notes = [f"{name}: {s.note}" for name, s in report.stacks.items() if s.note and name in present]
    return (*missing, *notes, *report.notices)


def _missing(device: Device, stacks: list[str], rows: Iterable[CellRow]) -> str:
    count = sum(row.stack in stacks and not row.excluded for row in rows)
    them = "it" if count == 1 else "them"
    return (
        f"{', '.join(stacks)}: no {words.DEVICES[device]} on this host; "
        f"{words.plural(count, 'cell')} not run and nothing downloaded for {them}"
    )
