"""The most probable states of all versions together, and whether they change between two.

Versions that can never be tested are summed out: in the kernels used here they repeat the next version's state, so
that they add no change and no factor of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.pinpoint.smoothing import TINY

if TYPE_CHECKING:
    from orchestrator.pinpoint.smoothing import Smoothed

Array = NDArray[np.float64]
Kernels = tuple[Array, Array, Array]
"""The chance to be bad if the next version is ok and if it is bad, (n, J, K), and at the newest, (J, K)."""

_TOP = 2
_RESCALED = 16


def kernels(seen: Smoothed, testable: NDArray[np.bool_]) -> Kernels:
    """Return the backward kernels with the versions summed out that cannot be tested."""
    if testable.all():
        return seen.if_ok, seen.if_bad, seen.bad[-1]
    if_ok, if_bad = seen.if_ok.copy(), seen.if_bad.copy()
    count = len(if_ok)
    newest = np.zeros(seen.bad.shape[1:])
    later = np.zeros((len(testable), 1), dtype=np.bool_)  # whether a version that can be tested follows
    # The chance to be bad at v + 1 if the next version that can be tested, from v + 1 on, is ok or bad.
    ok, bad = np.zeros(newest.shape), np.ones(newest.shape)
    for v in range(count - 1, -1, -1):
        there = testable[:, v, None]
        newest = np.where(there & ~later, seen.bad[v], newest)
        step_ok = np.where(later, seen.if_ok[v] + ok * (seen.if_bad[v] - seen.if_ok[v]), 0.0)
        step_bad = np.where(later, seen.if_ok[v] + bad * (seen.if_bad[v] - seen.if_ok[v]), 1.0)
        if_ok[v], if_bad[v] = np.where(there, step_ok, 0.0), np.where(there, step_bad, 1.0)
        ok, bad = np.where(there, 0.0, step_ok), np.where(there, 1.0, step_bad)
        later = later | there
    return if_ok, if_bad, newest


def turned(weight: Array, kernel: Kernels, old: int, new: int) -> tuple[Array, Array]:
    """Return the chances, (J,), that `old` is ok and `new` bad, and the reverse; both can be tested, old < new."""
    if_ok, if_bad, after = kernel
    for v in range(len(if_ok) - 2, new - 1, -1):
        after = if_ok[v] + after * (if_bad[v] - if_ok[v])
    # The chance of `old` to be bad if `new` is ok, and if it is bad.
    ok, bad = np.zeros(after.shape), np.ones(after.shape)
    for v in range(new - 1, old - 1, -1):
        ok, bad = (if_ok[v] + one * (if_bad[v] - if_ok[v]) for one in (ok, bad))
    introduced: Array = (after * (1 - bad) * weight).sum(axis=1)
    fixed: Array = ((1 - after) * ok * weight).sum(axis=1)
    return introduced, fixed


def best_path(weight: Array, kernel: Kernels) -> tuple[NDArray[np.bool_], Array]:
    """Return the most probable of the likeliest hypotheses' best paths, and its probability.

    Another candidate is that of the average over all hypotheses: where several matter, none alone is best.
    """
    top = min(_TOP, weight.shape[1])
    rows, heavy = np.arange(len(weight))[:, None], np.argsort(-weight, axis=1)[:, :top]
    averaged = [np.matmul(one.transpose(1, 0, 2), weight[:, :, None])[:, :, 0].T for one in kernel[:2]]
    ends = [(kernel[2] * weight).sum(axis=1)[:, None], kernel[2][rows, heavy]]
    ok, bad = (
        np.concatenate([mean[:, :, None], one[:, rows, heavy]], axis=2)
        for mean, one in zip(averaged, kernel[:2], strict=True)
    )
    candidates = _viterbi(ok, bad, np.concatenate(ends, axis=1))
    path = candidates[:, :, 0].T.copy()
    probability = path_probability(path, weight, kernel)
    for number in range(1, top + 1):
        other = candidates[:, :, number].T
        differs = np.flatnonzero((other != path).any(axis=1))
        if not len(differs):
            continue
        chance = path_probability(
            other[differs], weight[differs], (kernel[0][:, differs], kernel[1][:, differs], kernel[2][differs])
        )
        better = differs[chance > probability[differs]]
        probability[differs] = np.maximum(probability[differs], chance)
        path[better] = other[better]
    return path, probability


def _viterbi(if_ok: Array, if_bad: Array, newest: Array) -> NDArray[np.bool_]:
    """Return the best path, (n, J, C), of every kernel apart."""
    count = len(if_ok)
    shape = newest.shape
    ok, bad = np.ones(shape), np.ones(shape)  # the best product so far, if the next version is ok or bad
    was_bad = np.empty((count, 2, *shape), dtype=np.bool_)
    not_ok, not_bad = 1 - if_ok, 1 - if_bad
    for v in range(count - 1):
        stays, leaves = ok * not_ok[v], bad * if_ok[v]
        enters, keeps = ok * not_bad[v], bad * if_bad[v]
        np.greater(leaves, stays, out=was_bad[v, 0])
        np.greater(keeps, enters, out=was_bad[v, 1])
        ok, bad = np.maximum(stays, leaves, out=stays), np.maximum(enters, keeps, out=keeps)
        if v % _RESCALED == 0:
            scale = np.maximum(np.maximum(ok, bad), TINY)
            ok /= scale
            bad /= scale
    path = np.empty((count, *shape), dtype=np.bool_)
    path[-1] = bad * newest > ok * (1 - newest)
    for v in range(count - 2, -1, -1):
        np.copyto(path[v], was_bad[v, 0])
        np.copyto(path[v], was_bad[v, 1], where=path[v + 1])
    return path


def path_probability(path: NDArray[np.bool_], weight: Array, kernel: Kernels) -> Array:
    """Return the probability (J,) of the states of all versions that can be tested, all hypotheses weighed."""
    if_ok, if_bad, newest = kernel
    ok = (~path).T[:, :, None].astype(np.float64)
    after = path.T[:, :, None]
    product = weight * np.abs(newest - ok[-1])  # x of a bad version, 1 - x of an ok one
    for v in range(len(if_ok) - 2, -1, -1):
        chance = np.where(after[v + 1], if_bad[v], if_ok[v])
        chance -= ok[v]
        product *= np.abs(chance, out=chance)
    found: Array = product.sum(axis=1)
    return found
