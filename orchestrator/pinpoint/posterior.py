"""What is known of issues along versions: forward-backward over the hidden states, rates integrated out.

Rabiner, "A tutorial on hidden Markov models" (1989), for the recursions. Every array has the issue (J) first and
the version (n) second; inside, hypotheses on rates (G) come last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.pinpoint.paths import best_path, changes, skipping
from orchestrator.pinpoint.smoothing import TINY, Smoothed, backward, forward, weigh

if TYPE_CHECKING:
    from orchestrator.pinpoint.prior import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What observations say of J issues along n versions."""

    bad: Array
    """(J, n): the probability that a version is bad."""
    information: Array
    """(J, n): bits that one more run is expected to tell of the version's state."""
    path: NDArray[np.bool_]
    """(J, n): the most probable states of all versions together; True is bad."""
    probability: Array
    """(J,): of that path, where only versions that can be tested count."""
    change: Array
    """(J, n): the probability of a change between a version and the next one that can be tested."""
    false_fail: Array
    """(J,): the expected rate at which a good version fails."""
    false_pass: Array
    """(J,): the expected rate at which a bad version passes."""
    changes: Array
    """(J, 2): the expected numbers of introductions and of fixes along the whole axis."""


def infer(
    prior: Prior,
    steps: Array,
    runs: tuple[Array, Array],
    testable: NDArray[np.bool_] | None = None,
    given: NDArray[np.int8] | None = None,
) -> Posterior:
    """Return what observations say.

    `steps` (n-1,) are the shares of the steps, and `runs` the numbers of runs, (J, n) each, that came out bad and
    good. `testable` (J, n) tells which versions can ever be known: what lies between them is summed over. `given`
    (J, n) holds 1 where a version is bad, and -1 where it is ok, because somebody says so.
    """
    fail, passes, introduced, fixed, weight = prior.grid()
    worse, better = -np.expm1(-np.outer(steps, introduced)), -np.expm1(-np.outer(steps, fixed))
    filtered, evidence = forward(prior, (fail, passes), (worse, better), runs, given)
    seen = backward(filtered, (worse, better), weigh(prior, evidence, weight, runs[0] + runs[1]))
    if_ok, if_bad = seen.if_ok, seen.if_bad
    if testable is None:
        testable = np.ones(runs[0].shape, dtype=np.bool_)
    elif not testable.all():
        if_ok, if_bad = skipping(seen, testable)
    chance, information = _marginals(seen, fail, passes)
    path, probability = best_path(seen, if_ok, if_bad, testable)
    return Posterior(
        bad=chance,
        information=np.where(testable, information, 0.0),
        path=path,
        probability=probability,
        change=changes(seen, if_ok, if_bad, testable),
        false_fail=seen.weight @ fail,
        false_pass=seen.weight @ passes,
        changes=np.stack([seen.weight @ introduced, seen.weight @ fixed], axis=1),
    )


def entropy(chance: Array) -> Array:
    """Return the binary entropy, in bits."""
    inside = np.clip(chance, 1e-15, 1 - 1e-15)
    return -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))


def _marginals(seen: Smoothed, fail: Array, passes: Array) -> tuple[Array, Array]:
    """Return the chance to be bad, and the mutual information of a version's state and one more outcome there."""
    count, issues, _ = seen.bad.shape
    chance, bad_fails, ok_fails = (np.empty((count, issues)) for _ in range(3))
    for v in range(count):
        weighed = seen.bad[v] * seen.weight
        chance[v] = weighed.sum(axis=1)
        bad_fails[v] = weighed @ (1 - passes)
        ok_fails[v] = (seen.weight - weighed) @ fail
    chance = np.clip(chance, 0.0, 1.0)
    given_bad = entropy(bad_fails / np.maximum(chance, TINY))
    given_ok = entropy(ok_fails / np.maximum(1 - chance, TINY))
    told = entropy(bad_fails + ok_fails) - chance * given_bad - (1 - chance) * given_ok
    return chance.T, np.maximum(told, 0.0).T
