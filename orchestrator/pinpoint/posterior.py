"""What is known of issues along versions: forward-backward over the hidden states, rates integrated out.

Rabiner, "A tutorial on hidden Markov models" (1989), for the recursions. Every array has the issue (J) first and
the version (n) second; inside, hypotheses on rates (G) come last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.pinpoint.paths import Kernels, best_path, kernels, turned
from orchestrator.pinpoint.smoothing import Smoothed, backward, forward, weigh, weighty

if TYPE_CHECKING:
    from orchestrator.pinpoint.prior import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """What observations say of J issues along n versions."""

    bad: Array
    """(J, n): the probability that a version is bad."""
    information: Array
    """(J, n): bits that one more run is expected to tell of the version's state and of the rates."""
    path: NDArray[np.bool_]
    """(J, n): the most probable states of all versions together; True is bad."""
    probability: Array
    """(J,): of that path, where only versions that can be tested count."""
    false_fail: Array
    """(J,): the expected rate at which a good version fails."""
    false_pass: Array
    """(J,): the expected rate at which a bad version passes."""
    changes: Array
    """(J, 2): the expected numbers of introductions and of fixes along the whole axis."""
    _weight: Array = field(repr=False)
    _kernels: Kernels = field(repr=False)

    def turned(self, old: int, new: int) -> tuple[Array, Array]:
        """Return the chances, (J,), that version `old` is ok and `new` is bad, and the reverse.

        Both can be tested, and `old` comes first.
        """
        return turned(self._weight, self._kernels, old, new)


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
    worse, better = prior.moves(steps, introduced), prior.moves(steps, fixed)
    filtered, evidence = forward(prior, (fail, passes), (worse, better), runs, given)
    weight = weigh(prior, evidence, weight, int((runs[0] + runs[1]).any(axis=1).sum()))
    place = weighty(weight)
    if place is not None:
        weight = np.take_along_axis(weight, place, axis=1)
        fail, passes, introduced, fixed = (rate[place] for rate in (fail, passes, introduced, fixed))
    weight = weight / weight.sum(axis=1, keepdims=True)
    seen = backward(filtered, (worse, better), place)
    if testable is None:
        testable = np.ones(runs[0].shape, dtype=np.bool_)
    kernel = kernels(seen, testable)
    chance, information = _marginals(seen, weight, fail, passes)
    path, probability = best_path(weight, kernel)

    def expected(rate: Array) -> Array:
        found: Array = (weight * rate).sum(axis=1)
        return found

    return Posterior(
        bad=chance,
        information=np.where(testable, information, 0.0),
        path=path,
        probability=probability,
        false_fail=expected(fail),
        false_pass=expected(passes),
        changes=np.stack([expected(introduced), expected(fixed)], axis=1),
        _weight=weight,
        _kernels=kernel,
    )


def entropy(chance: Array) -> Array:
    """Return the binary entropy, in bits."""
    inside = np.clip(chance, 1e-15, 1 - 1e-15)
    return -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))


def _marginals(seen: Smoothed, weight: Array, fail: Array, passes: Array) -> tuple[Array, Array]:
    """Return the chance to be bad, and the mutual information of one more outcome with the state and the rates.

    h(P(fail)) - E[h(P(fail | state, rates))]: what a run says of the rates counts, because it makes all the other
    runs of the issue worth more.
    """
    if_ok, if_bad = entropy(fail), entropy(passes)
    columns = np.stack(
        [weight, weight * (1 - passes - fail), weight * (if_bad - if_ok)],
        axis=2,
    )
    sums = np.matmul(seen.bad.transpose(1, 0, 2), columns)
    fails = sums[:, :, 1] + (weight * fail).sum(axis=1)[:, None]
    told = entropy(fails) - sums[:, :, 2] - (weight * if_ok).sum(axis=1)[:, None]
    return np.clip(sums[:, :, 0], 0.0, 1.0), np.maximum(told, 0.0)
