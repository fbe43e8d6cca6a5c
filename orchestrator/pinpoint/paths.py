"""The most probable states of all versions together, and where they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orchestrator.pinpoint.smoothing import TINY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from orchestrator.pinpoint.smoothing import Smoothed

    Array = NDArray[np.float64]

_TOP = 2


def skipping(seen: Smoothed, testable: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the backward kernels from each version to the next one that can be tested, the others summed out."""
    if_ok, if_bad = seen.if_ok.copy(), seen.if_bad.copy()
    for v in range(len(if_ok) - 2, -1, -1):
        there = testable[:, v + 1, None]
        ok, bad = seen.if_ok[v], seen.if_bad[v]
        if_ok[v] = np.where(there, ok, ok + if_ok[v + 1] * (bad - ok))
        if_bad[v] = np.where(there, bad, ok + if_bad[v + 1] * (bad - ok))
    return if_ok, if_bad


def changes(seen: Smoothed, if_ok: Array, if_bad: Array, testable: NDArray[np.bool_]) -> Array:
    """Return the chance, (J, n), of a change between each version and the next one that can be tested."""
    issues, count = testable.shape
    found = np.zeros((issues, count))
    after = seen.bad[-1]  # the chance of the next version that can be tested, once one was met
    met = np.zeros(issues, dtype=np.bool_)
    for v in range(count - 1, -1, -1):
        here = testable[:, v]
        change = if_ok[v] + after * (1 - if_bad[v] - if_ok[v])
        found[:, v] = np.where(here & met, (change * seen.weight).sum(axis=1), 0.0)
        after = np.where(here[:, None], seen.bad[v], after)
        met = met | here
    return found


def best_path(
    seen: Smoothed, if_ok: Array, if_bad: Array, testable: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], Array]:
    """Return the most probable path among the best ones of the likeliest hypotheses, and its probability."""
    issues = len(testable)
    path = np.zeros(testable.shape, dtype=np.bool_)
    probability = np.full(issues, -1.0)
    rows = np.arange(issues)
    candidates = [_averaged(seen, if_ok, if_bad)]
    candidates += [
        (seen.bad[:, rows, g], if_ok[:, rows, g], if_bad[:, rows, g])
        for g in np.argsort(-seen.weight, axis=1)[:, :_TOP].T
    ]
    for bad, ok_kernel, bad_kernel in candidates:
        found = _viterbi(bad, ok_kernel, bad_kernel, testable)
        if (found == path).all() and (probability >= 0).all():
            continue
        chance = path_probability(found, seen, if_ok, if_bad, testable)
        better = chance > probability
        path[better], probability[better] = found[better], chance[better]
    return path, probability


def _averaged(seen: Smoothed, if_ok: Array, if_bad: Array) -> tuple[Array, Array, Array]:
    """Return (n, J) marginals and kernels, all hypotheses averaged: where several matter, none alone is best."""
    shape = seen.bad.shape[:2]
    bad, ok_kernel, bad_kernel = np.empty(shape), np.empty(shape), np.empty(shape)
    for v in range(shape[0]):
        bad[v] = (seen.bad[v] * seen.weight).sum(axis=1)
        ok_kernel[v] = (if_ok[v] * seen.weight).sum(axis=1)
        bad_kernel[v] = (if_bad[v] * seen.weight).sum(axis=1)
    return bad, ok_kernel, bad_kernel


def _viterbi(bad: Array, if_ok: Array, if_bad: Array, testable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the best path of one hypothesis per issue, from (n, J) marginals and backward kernels."""
    count, issues = bad.shape
    ok, ill = np.ones(issues), np.ones(issues)  # best product so far, if the next testable version is ok or bad
    was_ill = np.zeros((count, issues, 2), dtype=np.bool_)
    last_ok, last_ill = ok, ill
    for v in range(count):
        here = testable[:, v]
        last_ok, last_ill = np.where(here, ok, last_ok), np.where(here, ill, last_ill)
        if v == count - 1:
            break
        to_ok = (ok * (1 - if_ok[v]), ill * if_ok[v])
        to_ill = (ok * (1 - if_bad[v]), ill * if_bad[v])
        was_ill[v, :, 0], was_ill[v, :, 1] = to_ok[1] > to_ok[0], to_ill[1] > to_ill[0]
        ok, ill = np.where(here, np.maximum(*to_ok), ok), np.where(here, np.maximum(*to_ill), ill)
        scale = np.maximum(np.maximum(ok, ill), TINY)
        ok, ill = ok / scale, ill / scale
    path = np.zeros((issues, count), dtype=np.bool_)
    state = np.zeros(issues, dtype=np.bool_)
    met = np.zeros(issues, dtype=np.bool_)
    rows = np.arange(issues)
    for v in range(count - 1, -1, -1):
        here = testable[:, v]
        first = here & ~met
        ends_ill = last_ill * bad[v] > last_ok * (1 - bad[v])
        state = np.where(first, ends_ill, np.where(here, was_ill[v, rows, state.astype(int)], state))
        met = met | here
        path[:, v] = state
    return path


def path_probability(
    path: NDArray[np.bool_], seen: Smoothed, if_ok: Array, if_bad: Array, testable: NDArray[np.bool_]
) -> Array:
    """Return the probability of the states of all versions that can be tested, all hypotheses weighed."""
    product = seen.weight.copy()
    after = np.zeros(len(path), dtype=np.bool_)
    met = np.zeros(len(path), dtype=np.bool_)
    for v in range(path.shape[1] - 1, -1, -1):
        here = testable[:, v]
        chance = np.where(after[:, None], if_bad[v], if_ok[v])
        if not met.all():
            chance = np.where(met[:, None], chance, seen.bad[v])
        # 1 - x for an ok version, x for a bad one, 1 for one that cannot be tested
        sign, offset = np.where(path[:, v], 1.0, -1.0) * here, ~(path[:, v] & here)
        product *= chance * sign[:, None] + offset[:, None]
        after = np.where(here, path[:, v], after)
        met = met | here
    found: Array = product.sum(axis=1)
    return found
