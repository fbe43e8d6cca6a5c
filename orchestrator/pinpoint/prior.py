"""What is believed before anything is measured: how often states change, and how flaky probes are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from orchestrator.versions import Version

PATCH, MINOR, MAJOR = 1.0, 2.0, 4.0
"""How much likelier a step between releases changes a state than a patch does. A convention, not a measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How often a probe fails where the version is good, and passes where it is bad; `weight` among others."""

    false_fail: float
    false_pass: float
    weight: float = 1.0


STEADY = (Noise(false_fail=1e-6, false_pass=1e-6),)
"""Probes that never lie: imports, missing names, compile errors."""


_FALSE_FAILS = (0.002, 0.03, 0.08, 0.15, 0.25)
_FALSE_PASSES = (0.002, 0.03, 0.08, 0.15, 0.25, 0.45, 0.7, 0.85)
_STEADY_SHARE = 0.5


def _unknown() -> tuple[Noise, ...]:
    """Return a prior over rates that nobody knows: half of it on probes that hardly ever lie.

    The rest is flat over rates: a single guess of 5% where the truth is 20% makes answers given at 95% right only
    74% of the time (simulated). A probe that fails as often on good versions as on bad ones tells nothing, so
    that such pairs of rates are left out.
    """
    rates = [
        (fail, passes)
        for fail, passes in product(_FALSE_FAILS, _FALSE_PASSES)
        if fail + passes < 0.9  # noqa: PLR2004 - the 90% are what is left out
    ]
    flat = (1 - _STEADY_SHARE) / len(rates)
    return tuple(
        Noise(false_fail=f, false_pass=g, weight=flat + (_STEADY_SHARE if (f, g) == rates[0] else 0.0))
        for f, g in rates
    )


UNKNOWN = _unknown()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The hidden Markov model of an issue along an axis, before anything is measured.

    A state changes at a step with probability 1 - exp(-expected * share), `share` being the step's part of the
    axis; `expected` lists equally likely numbers of changes along all of it. `single` allows one change only, of
    either kind.
    """

    noise: tuple[Noise, ...] = UNKNOWN
    expected: tuple[float, ...] = (0.3, 1.0, 2.0)
    start: float = 0.5
    """The probability that the oldest version is bad."""
    single: bool = False
    pooling: float = 4.0
    """How many issues the prior over noise weighs as much as, against the other issues that run beside one."""

    def grid(self) -> tuple[NDArray[np.float64], ...]:
        """Return the hypotheses as arrays: false fail, false pass, expected introductions and fixes, weight."""
        kinds = [(1.0, 0.0), (0.0, 1.0)] if self.single else [(1.0, 1.0)]
        rows = [
            (one.false_fail, one.false_pass, expected * introduced, expected * fixed, one.weight)
            for one in self.noise
            for expected in self.expected
            for introduced, fixed in kinds
        ]
        fail, passes, introduced, fixed, weight = np.array(rows, dtype=np.float64).T
        return fail, passes, introduced, fixed, weight / weight.sum()


def shares(versions: Sequence[Version]) -> NDArray[np.float64]:
    """Return the share of every step between neighbouring versions in the axis (sum 1): patch < minor < major."""
    weights = [
        MAJOR if old.major != new.major else MINOR if old.minor != new.minor else PATCH
        for old, new in pairwise(versions)
    ]
    return np.array(weights, dtype=np.float64) / (sum(weights) or 1.0)
