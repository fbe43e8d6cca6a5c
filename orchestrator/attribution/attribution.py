"""Which of the packages that differ between a good and a bad cell are to blame. Pure.

A hybrid takes some of the differing units from the bad cell and the others from the good one; it fails if and
only if it takes a minimal culprit set. The model is in docs/concepts.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from orchestrator.attribution.belief import Belief, Noise, believe
from orchestrator.attribution.choice import next_hybrid
from orchestrator.attribution.hybrids import EXHAUSTIVE
from orchestrator.attribution.suspects import suspects
from orchestrator.attribution.witnesses import claims
from orchestrator.model import CauseKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SOMETHING_ELSE: frozenset[str] = frozenset()
"""Stands, where probabilities are given, for what no set of up to three units describes."""

_WORTH_NAMING = 0.1
"""A suspect is named as an alternative down to this share of the doubt that the confidence leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The runs of one hybrid, as counts; runs of unknown verdict are not counted."""

    taken: frozenset[str]
    failed: int
    passed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Hybrids that were run and show one thing of a culprit."""

    hybrid: frozenset[str]
    """What shows it best: the culprit, which fails, or it without one member, which passes."""
    fails: bool
    runs: tuple[frozenset[str], ...]
    """The hybrid itself, or what stands in for it where it is impossible; empty where nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """The answer of an attribution so far."""

    kind: CauseKind
    units: frozenset[str]
    """The culprit, where it is exact; where nothing explains what was seen, the smallest hybrid that failed;
    otherwise the units of all alternatives."""
    probability: float
    """Of the most probable alternative."""
    alternatives: tuple[tuple[frozenset[str], float], ...]
    """The culprits that remain plausible with their probabilities, the most probable first."""
    witnesses: tuple[Witness, ...] = ()
    """Of an exact culprit, one for each thing that is to be shown."""
    exhaustive: bool = True
    """Whether all hybrids were looked at; a sample of them where units are many or tries have run out."""

    @property
    def missing(self) -> tuple[frozenset[str], ...]:
        """The witnesses that cannot be installed."""
        return tuple(witness.hybrid for witness in self.witnesses if witness.runs != (witness.hybrid,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Which units are to blame, given what was run. The good and the bad cell are known and are not run again."""

    units: tuple[str, ...]
    weights: tuple[float, ...] = ()
    """How likely each unit is to blame, relative to the others; all alike if left out."""
    observations: tuple[Observation, ...] = ()
    impossible: frozenset[frozenset[str]] = frozenset()
    """Hybrids that cannot be installed, or whose verdict cannot be had."""
    noise: tuple[Noise, ...] = (Noise(),)
    confidence: float = 0.95
    tries: int = 1000
    """After so many impossible hybrids no more are asked for."""

    def __post_init__(self) -> None:
        """Refuse units, weights, observations and a confidence that mean nothing."""
        if not self.units or len(set(self.units)) < len(self.units):
            raise ValueError(f"attribution needs distinct units, at least one: {self.units}")
        if self.weights and (len(self.weights) != len(self.units) or min(self.weights) <= 0):
            raise ValueError(f"attribution needs a positive weight for each of {len(self.units)} units")
        if not 0.5 < self.confidence < 1:  # noqa: PLR2004
            raise ValueError(f"confidence must lie between a half and one: {self.confidence}")
        if not self.noise:
            raise ValueError("attribution needs at least one pair of noise rates")
        strange = frozenset().union(*(o.taken for o in self.observations), *self.impossible) - {*self.units}
        if strange:
            raise ValueError(f"these differ in neither cell: {', '.join(sorted(strange))}")

    def observed(self, taken: Iterable[str], *, failed: int = 0, passed: int = 0) -> Attribution:
        """Return the attribution after more runs of a hybrid."""
        seen = Observation(taken=frozenset(taken), failed=failed, passed=passed)
        return replace(self, observations=(*self.observations, seen))

    def unavailable(self, taken: Iterable[str]) -> Attribution:
        """Return the attribution after a hybrid turned out not to be installable, or to have no verdict."""
        return replace(self, impossible=self.impossible | {frozenset(taken)})

    def posterior(self) -> Mapping[frozenset[str], float]:
        """Return the probability of every suspect, and of `SOMETHING_ELSE`; they sum to one."""
        belief = _belief(self)
        sets = [self._names(one) for one in belief.suspects.sets]
        return dict(zip([*sets, SOMETHING_ELSE], belief.posterior.tolist(), strict=True))

    def next(self) -> frozenset[str] | None:
        """Return the hybrid to run next; None where the answer stands or no installable hybrid would tell more."""
        if len(self.impossible) >= self.tries:
            return None
        chosen = next_hybrid(_belief(self), self._unavailable(), self.confidence)
        return None if chosen is None else self._names(chosen)

    def answer(self) -> Culprit:
        """Return what is known so far."""
        ranked = sorted(self.posterior().items(), key=lambda pair: (-pair[1], sorted(pair[0])))
        (top, probability), *others = ranked
        alternatives = [top, *(one for one, p in others if p >= _WORTH_NAMING * (1 - self.confidence))]
        witnesses = self._witnesses(top) if top else ()
        if probability >= self.confidence and all(witness.runs for witness in witnesses):
            kind = CauseKind.EXACT if top else CauseKind.ELSE
        else:
            kind = CauseKind.SET if self.next() is None else CauseKind.OPEN
        return Culprit(
            kind=kind,
            units=self._blamed(kind, alternatives),
            probability=probability,
            alternatives=tuple(ranked[: len(alternatives)]),
            witnesses=witnesses if kind is CauseKind.EXACT else (),
            exhaustive=len(self.units) <= EXHAUSTIVE and len(self.impossible) < self.tries,
        )

    def _blamed(self, kind: CauseKind, alternatives: list[frozenset[str]]) -> frozenset[str]:
        match kind:
            case CauseKind.EXACT:
                return alternatives[0]
            case CauseKind.ELSE:
                failing = (one for one, bad in _belief(self).verdicts.items() if bad)
                return self._names(min(failing, key=lambda one: (len(one), sorted(one))))
            case _:
                return frozenset().union(*alternatives)

    def _witnesses(self, culprit: frozenset[str]) -> tuple[Witness, ...]:
        verdicts, unavailable = _belief(self).verdicts, self._unavailable()
        return tuple(
            Witness(
                hybrid=self._names(claim.hybrid),
                fails=claim.fails,
                runs=tuple(self._names(one) for one in claim.shown(verdicts, unavailable)),
            )
            for claim in claims(_numbers(self.units, culprit))
        )

    def _unavailable(self) -> frozenset[frozenset[int]]:
        return frozenset(_numbers(self.units, one) for one in self.impossible)

    def _names(self, numbers: frozenset[int]) -> frozenset[str]:
        return frozenset(self.units[number] for number in numbers)


@lru_cache(maxsize=64)
def _belief(state: Attribution) -> Belief:
    counts: dict[frozenset[int], tuple[int, int]] = {}
    for one in state.observations:
        failed, passed = counts.get(taken := _numbers(state.units, one.taken), (0, 0))
        counts[taken] = failed + one.failed, passed + one.passed
    weights = state.weights or (1.0,) * len(state.units)
    return believe(suspects(weights), counts, state.noise)


def _numbers(units: tuple[str, ...], names: frozenset[str]) -> frozenset[int]:
    return frozenset(number for number, unit in enumerate(units) if unit in names)
