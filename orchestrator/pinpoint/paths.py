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
    from collections.abc import Callable

    from orchestrator.pinpoint.smoothing import Smoothed

Array = NDArray[np.float64]
Kernels = tuple[Array, Array, Array]
"""The chance to be bad if the next version is ok and if it is bad, (n, J, K), and at the newest, (J, K)."""

_TOP = 2
_TIE = 1e-9
"""By how much a path has to be better than an earlier candidate, lest rounding decides between equals."""
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
    ok, bad = _before(if_ok, if_bad, old, new)
    introduced: Array = (after * (1 - bad) * weight).sum(axis=1)
    fixed: Array = ((1 - after) * ok * weight).sum(axis=1)
    return introduced, fixed


def turns(if_ok: Array, if_bad: Array, after: Array, old: int, new: int) -> tuple[Array, Array]:
    """Return the chances that `old` is ok and `new` bad, and the reverse; `after` is that of `new` to be bad.

    Under each hypothesis: all but the first axis of the kernels are kept.
    """
    ok, bad = _before(if_ok, if_bad, old, new)
    return after * (1 - bad), (1 - after) * ok


def _before(if_ok: Array, if_bad: Array, old: int, new: int) -> tuple[Array, Array]:
    """Return the chance of `old` to be bad if `new` is ok, and if it is bad."""
    ok, bad = np.zeros(if_ok.shape[1:]), np.ones(if_ok.shape[1:])
    for v in range(new - 1, old - 1, -1):
        ok, bad = (if_ok[v] + one * (if_bad[v] - if_ok[v]) for one in (ok, bad))
    return ok, bad


def best_path(weight: Array, kernel: Kernels) -> tuple[NDArray[np.bool_], Array]:
    """Return the most probable of the likeliest hypotheses' best paths, and its probability.

    Another candidate is that of the average over all hypotheses: where several matter, none alone is best.
    """
    rows = np.arange(len(weight))
    averaged = [np.matmul(one.transpose(1, 0, 2), weight[:, :, None])[:, :, 0] for one in kernel[:2]]
    means = averaged[0], averaged[1], (kernel[2] * weight).sum(axis=1)
    paths = candidates(means, kernel, rows, heaviest(weight))

    def worth(path: NDArray[np.bool_], which: NDArray[np.intp]) -> Array:
        only = kernel[0][:, which], kernel[1][:, which], kernel[2][which]
        found: Array = (weight[which] * products(path, only)).sum(axis=1)
        return found

    return most_probable(paths, worth)


def heaviest(weight: Array) -> NDArray[np.intp]:
    """Return the places of the likeliest hypotheses, (J, 2) or fewer."""
    return np.argsort(-weight, axis=1)[:, :_TOP]


def candidates(
    means: Kernels, kernel: Kernels, rows: NDArray[np.intp], heavy: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return the paths, (C, J, n), that may be the best: by the mean kernels, (J, n), and by the heavy hypotheses.

    `rows` (J,) says which row of `kernel` belongs to each of J issues, `heavy` which hypotheses are to be tried.
    """
    ok, bad = (
        np.concatenate([mean.T[:, :, None], one[:, rows[:, None], heavy]], axis=2)
        for mean, one in zip(means[:2], kernel[:2], strict=True)
    )
    newest = np.concatenate([means[2][:, None], kernel[2][rows[:, None], heavy]], axis=1)
    return _viterbi(ok, bad, newest).transpose(2, 1, 0)


def most_probable(
    paths: NDArray[np.bool_], worth: Callable[[NDArray[np.bool_], NDArray[np.intp]], Array]
) -> tuple[NDArray[np.bool_], Array]:
    """Return the best of the candidates (C, J, n), the earlier of two alike, and its probability.

    `worth` gives the probabilities of paths of some of the issues.
    """
    path = paths[0].copy()
    probability = worth(path, np.arange(len(path)))
    for other in paths[1:]:
        differs = np.flatnonzero((other != path).any(axis=1))
        if not len(differs):
            continue
        chance = worth(other[differs], differs)
        better = differs[chance > probability[differs] * (1 + _TIE)]
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


def products(path: NDArray[np.bool_], kernel: Kernels) -> Array:
    """Return the probability (J, K) of the states of all versions that can be tested, under each hypothesis."""
    if_ok, if_bad, newest = kernel
    ok = (~path).T[:, :, None].astype(np.float64)
    after = path.T[:, :, None]
    product: Array = np.abs(newest - ok[-1])  # x of a bad version, 1 - x of an ok one
    for v in range(len(if_ok) - 2, -1, -1):
        chance = np.where(after[v + 1], if_bad[v], if_ok[v])
        chance -= ok[v]
        product *= np.abs(chance, out=chance)
    return product
