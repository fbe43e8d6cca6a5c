"""What is known of the cells of a run: recalled from the store, added to as cells are measured, and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from orchestrator.execute.devices import missing
from orchestrator.execute.port import Base
from orchestrator.execute.runner import runner_digest
from orchestrator.matrix import Selection, asked
from orchestrator.model import (
    Attempt,
    Cell,
    Import,
    Lock,
    LockedCell,
    Outcome,
    ProbeResult,
    Unresolvable,
    Verdict,
)
from orchestrator.pinpoint import Measured
from orchestrator.results import ReuseKeys, blanket, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.model import Issue, Judgement, Matrix
    from orchestrator.workshop import Workshop

Rerun = Literal["missing", "failed", "infra", "all"]

_LOG_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one locked cell so far."""

    cell: Cell
    lock: Lock
    base: Base
    probes: tuple[str, ...]
    attempts: dict[str, dict[str, ProbeResult]]
    """The results of every attempt, by probe; the oldest attempt first."""
    imports: dict[str, Import]

    @property
    def results(self) -> dict[str, ProbeResult]:
        """The newest result of every probe."""
        return {probe: result for attempt in self.attempts.values() for probe, result in attempt.items()}

    def missing(self, rerun: Rerun) -> tuple[str, ...]:
        """Return the probes that are to be run."""
        results = self.results
        return tuple(probe for probe in self.probes if _wanted_again(results.get(probe), rerun))

    def learn(self, attempt: Attempt) -> None:
        """Add an attempt."""
        self.attempts[attempt.id] = {result.probe: result for result in attempt.results}
        self.imports.update((seen.package, seen) for seen in attempt.imports)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The cells of a run: which of them cannot be run and why, how the others are locked, and what is known."""

    selection: Selection
    cells: tuple[Cell, ...]
    absent: Mapping[str, str]
    """Stacks whose device is not here, with the reason."""
    locked: dict[str, LockedCell | Unresolvable]
    """Grows where cells are left for later."""
    known: dict[str, Known]

    @property
    def later(self) -> tuple[Cell, ...]:
        """The cells that can be run, as far as is known, and are not locked yet."""
        return tuple(
            one
            for one in self.cells
            if one.excluded is None and one.stack not in self.absent and one.id not in self.locked
        )

    @property
    def attempted(self) -> int:
        """How many cells have any result."""
        return sum(bool(one.attempts) for one in self.known.values())

    def joined(self, other: Field) -> Field:
        """Return the cells of two fields together."""
        cells = {cell.id: cell for cell in (*self.cells, *other.cells)}
        return Field(
            selection=self.selection,
            cells=tuple(cells.values()),
            absent={**self.absent, **other.absent},
            locked={**self.locked, **other.locked},
            known={**self.known, **other.known},
        )

    def measured(self, matrix: Matrix) -> tuple[Measured, ...]:
        """Judge every issue in every cell."""
        return tuple(self._judged(matrix, cell) for cell in self.cells)

    def _judged(self, matrix: Matrix, cell: Cell) -> Measured:
        """Judge every issue that asks about a cell."""
        if cell.excluded is not None:
            return Measured(cell=cell)
        probes = probes_of(matrix, cell, self.selection)
        locked = self.locked.get(cell.id)
        lock = None
        attempts: Sequence[Mapping[str, ProbeResult]] = ()
        imports: Mapping[str, Import] = {}
        reason = self.absent.get(cell.stack)
        if reason is not None:
            results = blanket(probes, Outcome.NO_DEVICE, reason)
        elif isinstance(locked, Unresolvable):
            outcome = Outcome.INFRA if locked.transient else Outcome.UNRESOLVABLE
            results = blanket(probes, outcome, reason := locked.reason)
        else:
            results = blanket(probes, Outcome.NOT_RUN, "it was not run")
            if (one := self.known.get(cell.id)) is not None:
                lock, imports, attempts = one.lock, one.imports, tuple(one.attempts.values())
                results |= one.results
        runs = {issue.id: _runs(issue, attempts, results) for issue in asked(matrix, cell, self.selection)}
        return Measured(
            cell=cell,
            lock=lock,
            git_versions={name: seen.git_version for name, seen in imports.items()},
            judgements={issue: judgements[-1] for issue, judgements in runs.items()},
            runs=runs,
            reason=reason if reason is not None else _common_reason(results.values()),
            log=_build_log(results.values()),
        )


def survey(shop: Workshop, selection: Selection, cells: Sequence[Cell], *, later: Sequence[Cell] = ()) -> Field:
    """Lock cells as far as they can be run here, and recall what is known of them.

    Those that are left for `later` are locked when a search chooses them, because that costs much: the wheel of a
    commit has to be built for it.
    """
    stacks = {cell.stack for cell in cells}
    absent = {name: why for name in stacks if (why := missing(shop.matrix.stacks[name].device)) is not None}
    field = Field(selection=selection, cells=(*cells, *later), absent=absent, locked={}, known={})
    here = [cell for cell in cells if cell.excluded is None and cell.stack not in absent]
    shop.observer.phase(f"resolving {len(here)} {'cell' if len(here) == 1 else 'cells'}")
    settle(shop, field, here)
    return field


def settle(shop: Workshop, field: Field, cells: Sequence[Cell]) -> None:
    """Lock cells of a field and recall what is known of them."""
    locked = shop.resolver.resolve(cells)
    field.locked.update((one.cell.id, one) for one in locked)
    for one in locked:
        if isinstance(one, Unresolvable) and one.cell.commits:
            shop.observer.note(f"{one.cell.id}: {one.reason.splitlines()[0]}")
    field.known.update(_recall(shop, field.selection, [one for one in locked if isinstance(one, LockedCell)]))


def probes_of(matrix: Matrix, cell: Cell, selection: Selection) -> tuple[str, ...]:
    """Return the probes that the selected issues need in a cell, each once, in the order of the matrix."""
    return tuple(dict.fromkeys(probe for issue in asked(matrix, cell, selection) for probe in issue.probes))


def _recall(shop: Workshop, selection: Selection, locked: Sequence[LockedCell]) -> dict[str, Known]:
    """Read what the store knows of each cell, by its id."""
    keys = ReuseKeys(shop.matrix, runner=runner_digest)
    bases = shop.bases(one.cell.python for one in locked)
    known = {}
    for one in locked:
        base = bases[one.cell.python]
        probes = probes_of(shop.matrix, one.cell, selection)
        found = shop.store.lookup(keys.environment(one.lock, base.digest), keys.probes(one.cell, probes))
        attempts: dict[str, dict[str, ProbeResult]] = {}
        for probe, recorded in found.items():
            for each in recorded:
                attempts.setdefault(each.attempt, {})[probe] = each.result
        known[one.cell.id] = Known(
            cell=one.cell,
            lock=one.lock,
            base=base,
            probes=probes,
            attempts=attempts,
            imports={seen.package: seen for recorded in found.values() for seen in recorded[-1].imports},
        )
    return known


def _runs(
    issue: Issue, attempts: Iterable[Mapping[str, ProbeResult]], results: Mapping[str, ProbeResult]
) -> tuple[Judgement, ...]:
    """Judge each attempt that ran all probes of an issue; what told nothing counts only where nothing else is."""
    found = [judge(issue, attempt) for attempt in attempts if all(probe in attempt for probe in issue.probes)]
    telling = tuple(one for one in found if one.verdict is not Verdict.UNKNOWN)
    return telling or (judge(issue, results),)


def _common_reason(results: Iterable[ProbeResult]) -> str | None:
    """Return why nothing could run in a cell: the signature that all its results share."""
    signatures = {result.signature for result in results if result.outcome is not Outcome.PASS}
    return signatures.pop() if len(signatures) == 1 else None


def _build_log(results: Iterable[ProbeResult]) -> tuple[str, ...]:
    """Return the end of what was printed while a cell's environment was made, where that is why nothing ran."""
    failed = (r.message for r in results if r.outcome is Outcome.BUILD_FAILED and r.message)
    return tuple(next(failed, "").splitlines()[1:][-_LOG_LINES:])


def _wanted_again(result: ProbeResult | None, rerun: Rerun) -> bool:
    match rerun:
        case "all":
            return True
        case "failed":
            again = (Outcome.FAIL, Outcome.CRASH, Outcome.TIMEOUT, Outcome.ERROR)
            return result is None or result.outcome in again
        case "infra":
            return result is None or result.outcome is Outcome.ERROR
        case "missing":
            return result is None
