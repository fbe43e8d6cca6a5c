"""What observed hybrids say of the suspects, and what another run would add. Pure.

With a suspect to blame, a hybrid that contains it fails but for P(pass|bad) and any other passes but for
P(fail|ok). Where it is something else, every hybrid is bad or not by the toss of a coin that is tossed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.attribution.hybrids import row, sets
from orchestrator.attribution.suspects import Suspects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Floats = NDArray[np.float64]

_COIN = 0.5
_UNDECIDED = 1e-9
_TINY = 1e-200
"""Below this a probability is no divisor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How often a probe lies, and how much this pair of rates is believed in."""

    false_fail: float = 0.001
    """P(fail|ok)."""
    false_pass: float = 0.001
    """P(pass|bad)."""
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Refuse rates that leave an observation impossible, or under which a failure would speak for ok."""
        if not (0 < self.false_fail < 1 - self.false_pass < 1 and self.weight > 0):
            raise ValueError(f"noise needs 0 < false_fail < 1 - false_pass < 1 and a positive weight: {self}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Belief:
    """Probabilities of the suspects, the last entry being something else, given what was observed."""

    suspects: Suspects
    posterior: Floats
    false_fail: Floats
    """P(fail|ok) expected under each entry."""
    true_fail: Floats
    """P(fail|bad), likewise."""
    observed: NDArray[np.bool_]
    """The observed hybrids, shape (observations, units)."""
    bad: Floats
    """Of each observed hybrid: the probability that it is bad, judged by its own runs alone."""

    @property
    def verdicts(self) -> dict[frozenset[int], bool]:
        """Which hybrids are bad, judged by their own runs, the two ends included; undecided ones are left out."""
        decided = {
            one: bool(bad > _COIN)
            for one, bad in zip(sets(self.observed), self.bad, strict=True)
            if abs(bad - _COIN) > _UNDECIDED
        }
        return {**decided, frozenset(): False, frozenset(range(self.suspects.units)): True}

    def tempered(self, power: float) -> Belief:
        """Return the belief with the odds between suspects raised to a power; something else keeps its share."""
        raised = self.posterior[:-1] ** power
        other = self.posterior[-1]
        return replace(self, posterior=np.append(raised * ((1 - other) / max(raised.sum(), _TINY)), other))

    def information(self, hybrids: NDArray[np.bool_]) -> Floats:
        """Return the bits that one run of each hybrid is expected to tell of the culprit."""
        inside = self.suspects.within(hybrids).astype(np.float64)
        weight, other = self.posterior[:-1], self.posterior[-1]
        ok, bad = self.false_fail[:-1], self.true_fail[:-1]
        coin = self._coin(hybrids)
        failing = weight @ ok + inside @ (weight * (bad - ok)) + other * coin
        known = weight @ _entropy(ok) + inside @ (weight * (_entropy(bad) - _entropy(ok)))
        return np.asarray(np.maximum(_entropy(failing) - known - other * _entropy(coin), 0.0))

    def _coin(self, hybrids: NDArray[np.bool_]) -> Floats:
        """Return the probability that each hybrid fails where it is something else."""
        bad = np.full(len(hybrids), _COIN)
        for one, probability in zip(self.observed, self.bad, strict=True):
            bad[(hybrids == one).all(axis=1)] = probability
        return np.asarray(self.false_fail[-1] + bad * (self.true_fail[-1] - self.false_fail[-1]))


def believe(suspects: Suspects, runs: Mapping[frozenset[int], tuple[int, int]], noise: Sequence[Noise]) -> Belief:
    """Return the belief after runs of hybrids, as counts of (failed, passed); noise is summed over."""
    observed = np.array([row(one, suspects.units) for one in runs], dtype=np.bool_).reshape(-1, suspects.units)
    failed, passed = np.array(list(runs.values()), dtype=np.float64).reshape(-1, 2).T
    rates = np.array([(n.false_fail, 1 - n.false_pass) for n in noise]).T  # (ok | bad, noise)
    share = np.array([n.weight for n in noise])
    # Log-likelihoods, shape (observations, noise), of a hybrid that is ok and of one that is bad.
    ok, bad = (failed[:, None] * np.log(p) + passed[:, None] * np.log1p(-p) for p in rates)
    inside = suspects.within(observed).astype(np.float64)
    fits = np.concatenate([ok.sum(axis=0) + inside.T @ (bad - ok), _either(observed, ok, bad).sum(axis=0)[None]])
    joint = fits + np.log(suspects.prior)[:, None] + np.log(share / share.sum())
    joint = np.exp(joint - joint.max())
    joint /= joint.sum()
    posterior = joint.sum(axis=1)
    overall = joint.sum(axis=0)
    # A suspect that is all but excluded still needs rates: those of everything together.
    given = np.where(posterior[:, None] > _TINY, joint / np.maximum(posterior, _TINY)[:, None], overall)
    return Belief(
        suspects=suspects,
        posterior=posterior,
        false_fail=given @ rates[0],
        true_fail=given @ rates[1],
        observed=observed,
        bad=(1 / (1 + np.exp(np.clip(ok - bad, -700, 700)))) @ overall,
    )


def _either(observed: NDArray[np.bool_], ok: Floats, bad: Floats) -> Floats:
    """Return the log-likelihoods under something else. The two ends are known to be good and bad even so."""
    mixed = np.logaddexp(ok, bad) - np.log(2)
    every, some = observed.all(axis=1, keepdims=True), observed.any(axis=1, keepdims=True)
    return np.asarray(np.where(every, bad, np.where(some, mixed, ok)))


def _entropy(p: Floats) -> Floats:
    """Return the binary entropy in bits."""
    q = np.clip(p, _TINY, 1.0)
    r = np.clip(1 - p, _TINY, 1.0)
    return np.asarray(-(p * np.log2(q) + (1 - p) * np.log2(r)))
