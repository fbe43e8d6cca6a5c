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
_NEGLIGIBLE = 1e-5
"""The weight, of all hypotheses of an issue, that may be left out to save time."""
_MOST = 0.7
"""The share of hypotheses above which picking some takes longer than working with all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothed:
    """Smoothed states, (n, J, K), under each hypothesis."""

    bad: Array
    if_ok: Array
    """The probability that a version is bad, if the next one is ok."""
    if_bad: Array


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
    base = good.max(initial=0) + 1
    codes, which = np.unique(bad.T * base + good.T, return_inverse=True)
    pairs, which = np.divmod(codes, base), which.reshape(count, issues)
    if_ok = np.outer(pairs[0], np.log(fail)) + np.outer(pairs[1], np.log1p(-fail))
    if_bad = np.outer(pairs[0], np.log1p(-passes)) + np.outer(pairs[1], np.log(passes))
    top = np.maximum(if_ok, if_bad)
    of_ok, of_bad = np.exp(if_ok - top), np.exp(if_bad - top)
    filtered = np.empty((count, issues, len(fail)))
    evidence = (np.stack([which == pair for pair in range(len(top))]).sum(axis=1).T @ top).astype(np.float64)
    product = np.ones(filtered.shape[1:])
    chance = np.full(filtered.shape[1:], prior.start)
    run = (bad + good).sum(axis=0) > 0
    told = np.zeros(count) if given is None else np.abs(given).sum(axis=0)
    for v in range(count):
        if v:
            chance = filtered[v - 1] * (1 - moves[0][v - 1] - moves[1][v - 1])
            chance += moves[0][v - 1]
        if given is not None and told[v]:
            state = given[:, v, None]
            product *= np.where(state > 0, chance, np.where(state < 0, 1 - chance, 1.0))
            chance = np.where(state > 0, 1.0, np.where(state < 0, 0.0, chance))
        if not run[v]:
            filtered[v] = chance
        else:
            ok = of_ok[which[v]]
            joint = chance * of_bad[which[v]]
            chance *= ok
            ok -= chance
            ok += joint
            np.divide(joint, ok, out=filtered[v])
            product *= ok
        if v % _RESCALED == 0 or v == count - 1:  # before it gets too small for a float
            evidence += np.log(np.maximum(product, TINY))
            product[:] = 1.0
    return filtered, evidence


def backward(filtered: Array, moves: tuple[Array, Array], place: NDArray[np.intp] | None = None) -> Smoothed:
    """Return the states given everything: `moves` are the chances of an introduction and a fix per step.

    `place` (J, K) chooses hypotheses; None takes all.
    """
    count, issues, grid = filtered.shape
    shape = (count, issues, grid if place is None else place.shape[1])
    back_ok, back_bad, smoothed = np.zeros(shape), np.zeros(shape), np.empty(shape)
    rows = np.arange(issues)[:, None]
    smoothed[-1] = filtered[-1] if place is None else filtered[-1][rows, place]
    # Version by version, because what one step needs stays in the processor's cache.
    for v in range(count - 2, -1, -1):
        before, worse, better = filtered[v], moves[0][v], moves[1][v]
        if place is not None:
            before, worse, better = before[rows, place], worse[place], better[place]
        turns = (1 - before) * worse
        leaves = before * better
        keeps = 1 - before
        keeps -= turns
        stays = before - leaves
        turns += stays
        keeps += leaves
        np.divide(stays, np.maximum(turns, TINY, out=turns), out=back_bad[v])
        np.divide(leaves, np.maximum(keeps, TINY, out=keeps), out=back_ok[v])
        np.subtract(back_bad[v], back_ok[v], out=smoothed[v])
        smoothed[v] *= smoothed[v + 1]
        smoothed[v] += back_ok[v]
    return Smoothed(bad=smoothed, if_ok=back_ok, if_bad=back_bad)


def weighty(weight: Array) -> NDArray[np.intp] | None:
    """Return the places (J, K) of hypotheses that are not negligible; None for all, where few are."""
    order = np.argsort(-weight, axis=1)
    passed = np.take_along_axis(weight, order, axis=1).cumsum(axis=1)
    enough = int((passed < 1 - _NEGLIGIBLE).sum(axis=1).max()) + 1
    if enough > _MOST * weight.shape[1]:
        return None
    return order[:, :enough]


def weigh(prior: Prior, evidence: Array, weight: Array, asked: int) -> Array:
    """Weigh hypotheses by their evidence; what other issues show of their noise is evidence for the prior.

    `asked` says how many of the issues have any run.
    """
    evidence = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    found = evidence * weight
    found /= found.sum(axis=1, keepdims=True)
    if asked < 2 or not prior.pooling or len(weight) == 1:  # noqa: PLR2004 - one issue has no others
        return found
    # Empirical Bayes: the prior that all issues share is drawn towards what the others turned out to be.
    for _ in range(_POOLED_ROUNDS):
        others = found.sum(axis=0) - found
        shared = (prior.pooling * weight + others) / (prior.pooling + len(found) - 1)
        found = evidence * shared
        found /= found.sum(axis=1, keepdims=True)
    return found
