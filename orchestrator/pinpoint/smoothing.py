"""Forward-backward over the hidden states of several issues, for every hypothesis on the rates at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from orchestrator.pinpoint.prior import Prior

Array = NDArray[np.float64]

TINY = 1e-300
_POOLED_ROUNDS = 3
_RESCALED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothed:
    """Smoothed states per hypothesis: (n, J, G) arrays, and the hypotheses' weights (J, G)."""

    bad: Array
    if_ok: Array
    """The probability that a version is bad, if the next one is ok."""
    if_bad: Array
    weight: Array


def forward(
    prior: Prior,
    noise: tuple[Array, Array],
    moves: tuple[Array, Array],
    runs: tuple[Array, Array],
    given: NDArray[np.int8] | None,
) -> tuple[Array, Array]:
    """Return the chance to be bad given the past, (n, J, G), and the log evidence of every hypothesis, (J, G)."""
    fail, passes = noise
    bad, good = runs
    issues, count = bad.shape
    # Few different counts occur, so that their likelihoods are worked out once each.
    pairs, which = np.unique(np.stack([bad.T.ravel(), good.T.ravel()]), axis=1, return_inverse=True)
    which = which.reshape(count, issues)
    if_ok = np.outer(pairs[0], np.log(fail)) + np.outer(pairs[1], np.log1p(-fail))
    if_bad = np.outer(pairs[0], np.log1p(-passes)) + np.outer(pairs[1], np.log(passes))
    top = np.maximum(if_ok, if_bad)
    of_ok, of_bad = np.exp(if_ok - top), np.exp(if_bad - top)
    filtered = np.empty((count, issues, len(fail)))
    evidence = np.zeros(filtered.shape[1:])
    product = np.ones(filtered.shape[1:])
    chance = np.full(filtered.shape[1:], prior.start)
    for v in range(count):
        if v:
            chance = filtered[v - 1] * (1 - moves[0][v - 1] - moves[1][v - 1]) + moves[0][v - 1]
        if given is not None and given[:, v].any():
            told = given[:, v, None]
            product *= np.where(told > 0, chance, np.where(told < 0, 1 - chance, 1.0))
            chance = np.where(told > 0, 1.0, np.where(told < 0, 0.0, chance))
        joint = chance * of_bad[which[v]]
        total = joint + (1 - chance) * of_ok[which[v]]
        np.divide(joint, total, out=filtered[v])
        product *= total
        if v % _RESCALED == 0 or v == count - 1:  # before it gets too small for a float
            evidence += np.log(np.maximum(product, TINY))
            product = np.ones(product.shape)
    for v in range(count):
        evidence += top[which[v]]
    return filtered, evidence


def backward(filtered: Array, moves: tuple[Array, Array], weight: Array) -> Smoothed:
    """Return the states given everything: `moves` are the chances of an introduction and a fix per step."""
    back_ok, back_bad, smoothed = np.zeros(filtered.shape), np.zeros(filtered.shape), np.empty(filtered.shape)
    smoothed[-1] = filtered[-1]
    # Version by version, because what one step needs stays in the processor's cache.
    for v in range(len(filtered) - 2, -1, -1):
        before, worse, better = filtered[v], moves[0][v], moves[1][v]
        not_before = 1 - before
        stays, turns = before * (1 - better), not_before * worse
        np.divide(stays, np.maximum(stays + turns, TINY), out=back_bad[v])
        leaves, keeps = before - stays, not_before - turns
        np.divide(leaves, np.maximum(leaves + keeps, TINY), out=back_ok[v])
        smoothed[v] = back_ok[v] + smoothed[v + 1] * (back_bad[v] - back_ok[v])
    return Smoothed(bad=smoothed, if_ok=back_ok, if_bad=back_bad, weight=weight)


def weigh(prior: Prior, evidence: Array, weight: Array, runs: Array) -> Array:
    """Weigh hypotheses by their evidence; what other issues show of their noise is evidence for the prior."""
    evidence = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    found = evidence * weight
    found /= found.sum(axis=1, keepdims=True)
    asked = (runs.sum(axis=1) > 0).sum()
    if asked < 2 or not prior.pooling or len(weight) == 1:  # noqa: PLR2004 - one issue has no others
        return found
    # Empirical Bayes: the prior that all issues share is drawn towards what the others turned out to be.
    for _ in range(_POOLED_ROUNDS):
        others = found.sum(axis=0) - found
        shared = (prior.pooling * weight + others) / (prior.pooling + len(found) - 1)
        found = evidence * shared
        found /= found.sum(axis=1, keepdims=True)
    return found
