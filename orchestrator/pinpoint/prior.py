"""What is believed before anything is measured: how often states change, and how flaky probes are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
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


def _unknown() -> tuple[Noise, ...]:
    """Return a prior over rates that nobody knows, by the ways in which probes are flaky.

    A single guess of 5% where the truth is 20% makes answers given at 95% right only 74% of the time (simulated),
    and a flat prior over all pairs of rates asks for a third more runs. The shares are a compromise, tuned in
    simulation, between few runs at rates up to 10% and answers at 95% that are right at all rates. A probe that
    fails as often on good versions as on bad ones tells nothing: such pairs are left out.
    """
    steady = 0.002
    return (
        Noise(false_fail=steady, false_pass=steady, weight=0.06),
        # The noise has nothing to do with the issue: machines, time limits.
        *(
            Noise(false_fail=rate, false_pass=rate, weight=weight)
            for rate, weight in ((0.02, 0.04), (0.05, 0.06), (0.1, 0.07), (0.2, 0.11), (0.3, 0.07))
        ),
        # The issue shows only at times: races, uninitialised memory.
        *(
            Noise(false_fail=steady, false_pass=rate, weight=weight)
            for rate, weight in ((0.1, 0.03), (0.3, 0.06), (0.5, 0.11), (0.7, 0.075), (0.85, 0.075))
        ),
        # The probe is fragile: tolerances, seeds.
        *(Noise(false_fail=rate, false_pass=steady, weight=0.025) for rate in (0.05, 0.1, 0.3)),
        # Something of both.
        *(
            Noise(false_fail=fail, false_pass=passes, weight=weight)
            for fail, passes, weight in (
                (0.02, 0.1, 0.02),
                (0.05, 0.3, 0.025),
                (0.02, 0.5, 0.025),
                (0.1, 0.4, 0.055),
                (0.2, 0.05, 0.02),
                (0.3, 0.1, 0.02),
            )
        ),
    )


UNKNOWN = _unknown()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The hidden Markov model of an issue along an axis, before anything is measured.

    A state changes at a step with probability 1 - exp(-expected * share), `share` being the step's part of the
    axis; `expected` lists equally likely numbers of changes along all of it. `single` allows one change only, of
    either kind, which is as likely along every share.
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
        kinds = ((1.0, 0.0), (0.0, 1.0)) if self.single else ((1.0, 1.0),)
        # Of a single change, `expected` says only how likely it is at all.
        numbers = (sum(self.expected) / len(self.expected),) if self.single else self.expected
        rows = [
            (one.false_fail, one.false_pass, number * introduced, number * fixed, one.weight)
            for one in self.noise
            for number in numbers
            for introduced, fixed in kinds
        ]
        fail, passes, introduced, fixed, weight = np.array(rows, dtype=np.float64).T
        return fail, passes, introduced, fixed, weight / weight.sum()

    def moves(self, steps: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chance, (n-1, G), that a state changes at each step, for G expected numbers of changes."""
        if not self.single:
            return -np.expm1(-np.outer(steps, expected))
        once = -np.expm1(-expected)
        passed = np.concatenate([[0.0], steps.cumsum()[:-1]]) if len(steps) else steps
        chances: NDArray[np.float64] = np.outer(steps, once) / (1 - np.outer(passed, once))
        return chances


def shares(versions: Sequence[Version]) -> NDArray[np.float64]:
    """Return the share of every step between neighbouring versions in the axis (sum 1): patch < minor < major."""
    weights = [
        MAJOR if old.major != new.major else MINOR if old.minor != new.minor else PATCH
        for old, new in pairwise(versions)
    ]
    return np.array(weights, dtype=np.float64) / (sum(weights) or 1.0)
