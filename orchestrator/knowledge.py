"""What is known of the cells of a run: recalled from the store, added to as cells are measured, and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from orchestrator.execute.port import Base
from orchestrator.execute.runner import runner_digest
from orchestrator.garbage import uncollected
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
from orchestrator.results import Recorded, ReuseKeys, blanket, environment_key, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.model import Issue, Judgement, Matrix
    from orchestrator.workshop import Workshop

Rerun = Literal["missing", "failed", "infra", "all"]

_LOG_LINES = 20
_UNKNOWN, _PASS, _BUILD_FAILED = Verdict.UNKNOWN, Outcome.PASS, Outcome.BUILD_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one locked cell so far."""

    cell: Cell
    lock: Lock
    base: Base
    probes: tuple[str, ...]
    attempts: list[Recorded]
    """Every attempt, the oldest first."""
    digest: str | None = None
    """Of the lock, where it was worked out already."""

    @property
    def results(self) -> dict[str, ProbeResult]:
        """The newest result of every probe."""
        if len(self.attempts) == 1:
            return dict(self.attempts[0].results)
        return {probe: result for attempt in self.attempts for probe, result in attempt.results.items()}

    @property
    def imports(self) -> dict[str, Import]:
        """What was last seen of every package under test."""
        return {seen.package: seen for attempt in self.attempts for seen in attempt.imports}

    def missing(self, rerun: Rerun) -> tuple[str, ...]:
        """Return the probes that are to be run."""
        results = self.results
        return tuple(probe for probe in self.probes if _wanted_again(results.get(probe), rerun))

    def learn(self, attempt: Attempt) -> None:
        """Add an attempt."""
        results = {result.probe: result for result in attempt.results}
        self.attempts.append(Recorded(origin=attempt.origin, results=results, imports=attempt.imports))


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
        questions = Questions(matrix, self.selection)
        with uncollected():
            return tuple([self._judged(cell, questions) for cell in self.cells])

    def _judged(self, cell: Cell, questions: Questions) -> Measured:
        """Judge every issue that asks about a cell."""
        if cell.excluded is not None:
            return Measured(cell=cell)
        probes = questions.probes(cell)
        locked = self.locked.get(cell.id)
        lock = digest = None
        attempts: Sequence[Recorded] = ()
        imports: Mapping[str, Import] = {}
        reason = self.absent.get(cell.stack)
        if reason is not None:
            results = blanket(probes, Outcome.NO_DEVICE, reason)
        elif isinstance(locked, Unresolvable):
            outcome = Outcome.INFRA if locked.transient else Outcome.UNRESOLVABLE
            results = blanket(probes, outcome, reason := locked.reason)
        else:
            if (one := self.known.get(cell.id)) is not None:
                lock, digest, imports, attempts = one.lock, one.digest, one.imports, one.attempts
                results = one.results
            else:
                results = {}
            lacking = [probe for probe in probes if probe not in results]
            results = blanket(lacking, Outcome.NOT_RUN, "it was not run") | results
        judgements: dict[str, Judgement] = {}
        runs: dict[str, tuple[Judgement, ...]] = {}
        for issue in questions.issues(cell):
            judged = _runs(issue, attempts, results)
            judgements[issue.id] = judged[-1]
            if len(judged) > 1:
                runs[issue.id] = judged
        return Measured(
            cell=cell,
            lock=lock,
            digest=digest,
            git_versions={name: seen.git_version for name, seen in imports.items()},
            judgements=judgements,
            runs=runs,
            reason=reason if reason is not None else _common_reason(results.values()),
            log=_build_log(results.values()),
            origin=attempts[-1].origin if attempts else None,
        )


class Questions:
    """What a selection asks of cells: of those of one stack the same."""

    def __init__(self, matrix: Matrix, selection: Selection) -> None:
        self._matrix = matrix
        self._selection = selection
        self._issues: dict[str, tuple[Issue, ...]] = {}
        self._probes: dict[str, tuple[str, ...]] = {}

    def issues(self, cell: Cell) -> tuple[Issue, ...]:
        """Return the issues that ask about a cell."""
        found = self._issues.get(cell.stack)
        if found is None:
            found = self._issues[cell.stack] = asked(self._matrix, cell, self._selection)
        return found

    def probes(self, cell: Cell) -> tuple[str, ...]:
        """Return the probes that those issues need, each once, in the order of the matrix."""
        found = self._probes.get(cell.stack)
        if found is None:
            found = tuple(dict.fromkeys(probe for issue in self.issues(cell) for probe in issue.probes))
            self._probes[cell.stack] = found
        return found


def survey(shop: Workshop, selection: Selection, cells: Sequence[Cell], *, later: Sequence[Cell] = ()) -> Field:
    """Lock cells as far as they can be run here, and recall what is known of them.

    Those that are left for `later` are locked when a search chooses them, because that costs much: the wheel of a
    commit has to be built for it.
    """
    stacks = {cell.stack for cell in cells}
    reasons = {name: shop.devices.missing(shop.matrix.stacks[name].device) for name in stacks}
    absent = {name: why for name, why in reasons.items() if why is not None}
    field = Field(selection=selection, cells=(*cells, *later), absent=absent, locked={}, known={})
    here = [cell for cell in cells if cell.excluded is None and cell.stack not in absent]
    shop.observer.phase(f"resolving {len(here)} {'cell' if len(here) == 1 else 'cells'}")
    settle(shop, field, here)
    return field


def settle(shop: Workshop, field: Field, cells: Sequence[Cell]) -> None:
    """Lock cells of a field and recall what is known of them."""
    locked = shop.resolve(cells)
    field.locked.update((one.cell.id, one) for one in locked)
    for one in locked:
        if isinstance(one, Unresolvable) and one.cell.commits:
            shop.observer.note(f"{one.cell.id}: {one.reason.splitlines()[0]}")
    with uncollected():
        field.known.update(_recall(shop, field.selection, [one for one in locked if isinstance(one, LockedCell)]))


def with_contents(shop: Workshop, field: Field) -> Field:
    """Return a field in which the locks of prebuilt images tell all that was found in there by now."""
    seen = {
        name: looked
        for name, one in field.locked.items()
        if isinstance(one, LockedCell)
        and one.lock.prebuilt is not None
        and isinstance(looked := shop.lock_prebuilt(one.cell), LockedCell)
    }
    if not seen:
        return field
    known = {
        name: replace(one, lock=seen[name].lock) if name in seen else one for name, one in field.known.items()
    }
    return replace(field, locked={**field.locked, **seen}, known=known)


def probes_of(matrix: Matrix, cell: Cell, selection: Selection) -> tuple[str, ...]:
    """Return the probes that the selected issues need in a cell, each once, in the order of the matrix."""
    return Questions(matrix, selection).probes(cell)


def _recall(shop: Workshop, selection: Selection, locked: Sequence[LockedCell]) -> dict[str, Known]:
    """Read what the store knows of each cell, by its id."""
    keys = ReuseKeys(shop.matrix, runner=runner_digest)
    bases = shop.bases(one.cell for one in locked)
    questions = Questions(shop.matrix, selection)
    known = {}
    for one in locked:
        base = bases[one.cell.id]
        probes = questions.probes(one.cell)
        # Worked out once: a lock is long.
        contents = one.lock.contents
        digest = contents if one.lock.base is None else one.lock.digest
        found = shop.store.lookup(environment_key(contents, base.digest), keys.probes(one.cell, probes))
        known[one.cell.id] = Known(
            cell=one.cell,
            lock=one.lock,
            digest=digest,
            base=base,
            probes=probes,
            attempts=list(found),
        )
    return known


def _runs(issue: Issue, attempts: Iterable[Recorded], results: Mapping[str, ProbeResult]) -> tuple[Judgement, ...]:
    """Judge each attempt that ran all probes of an issue; what told nothing counts only where nothing else is."""
    telling = []
    probes = issue.probes
    for attempt in attempts:
        if probes[0] in attempt.results and (len(probes) == 1 or all(map(attempt.results.__contains__, probes))):
            one = judge(issue, attempt.results, attempt.origin.attempt)
            if one.verdict is not _UNKNOWN:
                telling.append(one)
    return tuple(telling) or (judge(issue, results),)


def _common_reason(results: Iterable[ProbeResult]) -> str | None:
    """Return why nothing could run in a cell: the signature that all its results share."""
    signatures = {result.signature for result in results if result.outcome is not _PASS}
    return signatures.pop() if len(signatures) == 1 else None


def _build_log(results: Iterable[ProbeResult]) -> tuple[str, ...]:
    """Return the end of what was printed while a cell's environment was made, where that is why nothing ran."""
    failed = (r.message for r in results if r.outcome is _BUILD_FAILED and r.message)
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
