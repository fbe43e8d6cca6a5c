"""Hybrid cells: part of a good cell and part of a bad one, run until it is known which part is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from orchestrator.attribution import Attribution, Noise
from orchestrator.attribution.units import Unit, differing, exact_ties, units
from orchestrator.knowledge import Field, survey
from orchestrator.measure import measure, plan_for
from orchestrator.model import (
    Cause,
    Cell,
    Kind,
    LockedCell,
    Verdict,
    Witness,
    digest,
)
from orchestrator.versions import exactly
from orchestrator.wheels.metadata import requires

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from orchestrator.attribution import Culprit
    from orchestrator.measure import Options
    from orchestrator.model import Lock, Matrix, Series, Transition
    from orchestrator.versions import Version
    from orchestrator.workshop import Workshop

_LEAST_NOISE = 0.001


def attribute(
    shop: Workshop,
    options: Options,
    field: Field,
    everything: Sequence[Cell],
    series: Series,
    transition: Transition,
    confidence: float,
) -> Cause | None:
    """Find which of the packages that differ between the two sides of a transition it takes.

    None where one thing only differs, or a side has no lock.
    """
    sides = _sides(field, series, transition)
    if sides is None:
        return None
    good, bad = sides
    parts = _units(shop, good, bad)
    if len(parts) < 2:  # noqa: PLR2004 - a single one needs no separating
        return None
    hybrids = _Hybrids(shop, options, field, everything, (good, bad), parts)
    belief = series.belief
    noise = Noise(
        false_fail=max(_LEAST_NOISE, belief.false_fail if belief and belief.flaky else 0.0),
        false_pass=max(_LEAST_NOISE, belief.false_pass if belief and belief.flaky else 0.0),
    )
    state = Attribution(
        units=tuple(unit.name for unit in parts),
        weights=tuple(unit.weight for unit in parts),
        noise=(noise,),
        confidence=confidence,
    )
    ran = 0
    while not shop.cancel.is_set() and (taken := state.next()) is not None:
        counted = hybrids.run(taken, series.issue)
        if counted is None:
            state = state.unavailable(taken)
        else:
            ran += 1
            state = state.observed(taken, failed=counted[0], passed=counted[1])
    return _cause(state.answer(), hybrids, state.units, (ran, len(state.impossible)))


def with_causes(
    shop: Workshop,
    options: Options,
    field: Field,
    everything: Sequence[Cell],
    found: Sequence[Series],
    confidence: float,
    wanted: Callable[[Transition], bool],
) -> tuple[Series, ...]:
    """Return series with the causes of those of their transitions that are `wanted`."""

    def caused(one: Series, transition: Transition) -> Transition:
        if transition.after is None or shop.cancel.is_set() or not wanted(transition):
            return transition
        cause = attribute(shop, options, field, everything, one, transition, confidence)
        return replace(transition, cause=cause)

    return tuple(replace(one, transitions=tuple(caused(one, t) for t in one.transitions)) for one in found)


def hybrid(matrix: Matrix, good: LockedCell, bad: LockedCell, taken: frozenset[str]) -> Cell:
    """Return the cell that has some distributions (by name) as the bad cell has them, and all others as the good.

    Everything in it is pinned. What the chosen side does not have is not asked for.
    """
    one, other = _versions(good.lock), _versions(bad.lock)
    chosen = {name: (other if name in taken else one).get(name) for name in one.keys() | other.keys()}
    tested = {name: canonicalize_name(matrix.packages[name].distribution) for name in good.cell.requires}
    needed = {name: chosen.pop(distribution, None) for name, distribution in tested.items()}
    source = {name: (bad if distribution in taken else good) for name, distribution in tested.items()}
    versions = {axis: source[axis].cell.versions[axis] for axis in good.cell.versions}
    pins = tuple(f"{name}=={version}" for name, version in sorted(chosen.items()) if version is not None)
    return Cell(
        id=f"{good.cell.stack}-hybrid-{digest([good.lock.digest, bad.lock.digest, sorted(taken)])[:12]}",
        stack=good.cell.stack,
        device=good.cell.device,
        python=good.cell.python,
        versions=versions,
        requires={
            # A wheel that was built of a commit has a version of its own: there the cell's own words count.
            name: source[name].cell.requires[name] if version is None else exactly(version)
            for name, version in needed.items()
        },
        requirements=pins,
        commits={name: source[name].cell.commits[name] for name in needed if name in source[name].cell.commits},
        pinned=True,
    )


class _Hybrids:
    """Makes and runs hybrids of two cells."""

    def __init__(
        self,
        shop: Workshop,
        options: Options,
        field: Field,
        everything: Sequence[Cell],
        sides: tuple[LockedCell, LockedCell],
        parts: Sequence[Unit],
    ) -> None:
        self._shop = shop
        self._options = options
        self._field = field
        self._everything = everything
        self._sides = sides
        self._parts = {unit.name: unit for unit in parts}
        good, bad = (side.cell.id for side in sides)
        self.cells: dict[frozenset[str], str] = {frozenset(): good, frozenset(self._parts): bad}
        """The id of every hybrid that was run, the two sides among them."""

    def run(self, taken: frozenset[str], issue: str) -> tuple[int, int] | None:
        """Run a hybrid, if it was not; return how often it failed and passed, None where it tells nothing."""
        shop = self._shop
        names = frozenset(name for unit in taken for name in self._parts[unit].distributions)
        cell = hybrid(shop.matrix, *self._sides, names)
        there = survey(shop, self._field.selection, [cell])
        words = " and ".join(sorted(taken))
        good, bad = (side.cell.id for side in self._sides)
        if not there.known:
            (answer,) = there.locked.values()
            reason = "" if isinstance(answer, LockedCell) else answer.reason.splitlines()[0]
            shop.observer.note(f"no cell has {words} of {bad} in {good}: {reason}")
            return None
        (known,) = there.known.values()
        if not known.attempts:
            shop.observer.phase(f"hybrid: {words} of {bad} in {good}")
            plan = plan_for(shop, {**self._field.known, **there.known}, self._everything)
            measure(shop, self._options, [(known, known.probes)], plan)
        (measured,) = there.measured(shop.matrix)
        verdicts = [one.verdict for one in measured.judged(issue)]
        failed, passed = verdicts.count(Verdict.BAD), verdicts.count(Verdict.GOOD)
        if not failed + passed:
            return None
        self.cells[taken] = cell.id
        return failed, passed


def _sides(field: Field, series: Series, transition: Transition) -> tuple[LockedCell, LockedCell] | None:
    """Return the good and the bad cell next to a transition."""
    cells = {point.version: point.cell for point in series.points}
    if transition.after is None:
        return None
    old, new = (field.locked.get(cells[version]) for version in (transition.after, transition.version))
    if not isinstance(old, LockedCell) or not isinstance(new, LockedCell):
        return None
    if old.lock.prebuilt is not None or new.lock.prebuilt is not None:
        return None  # what an image has cannot be mixed with what another has
    return (old, new) if transition.kind is Kind.INTRODUCED else (new, old)


def _units(shop: Workshop, good: LockedCell, bad: LockedCell) -> tuple[Unit, ...]:
    names = differing(good.lock, bad.lock)
    tested = [canonicalize_name(shop.matrix.packages[name].distribution) for name in good.cell.requires]
    declared = {
        d.name: requires(d, shop.wheels) or ()
        for lock in (good.lock, bad.lock)
        for d in lock.distributions
        if d.name in names
    }
    return units(names, tested, exact_ties(declared))


def _versions(lock: Lock) -> dict[str, Version]:
    return {d.name: d.version for d in lock.distributions}


def _cause(answer: Culprit, hybrids: _Hybrids, names: Sequence[str], counts: tuple[int, int]) -> Cause:
    def ordered(units: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(units, key=names.index))

    return Cause(
        kind=answer.kind,
        packages=ordered(answer.units),
        probability=answer.probability,
        alternatives=tuple((ordered(one), chance) for one, chance in answer.alternatives),
        differing=tuple(names),
        witnesses=tuple(
            Witness(
                taken=ordered(witness.hybrid),
                fails=witness.fails,
                cells=tuple(hybrids.cells[run] for run in witness.runs if run in hybrids.cells),
            )
            for witness in answer.witnesses
        ),
        cells=counts[0],
        uninstallable=counts[1],
    )
