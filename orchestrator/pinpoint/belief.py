"""How surely the series of issues along the same cells are known."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.model import Belief, Gap, Outcome, Verdict
from orchestrator.pinpoint.certificate import hidden
from orchestrator.pinpoint.posterior import Posterior, infer
from orchestrator.pinpoint.prior import Prior, shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.pinpoint.measured import Measured
    from orchestrator.versions import Version

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Runs of J issues in n cells, as (J, n) arrays."""

    bad: Array
    good: Array
    testable: NDArray[np.bool_]
    """False where a verdict is unknown for a reason that another run would find again."""


def counts(issues: Sequence[str], row: Sequence[Measured]) -> Counts:
    """Count the runs of issues in the cells of a row."""
    bad, good = np.zeros((len(issues), len(row))), np.zeros((len(issues), len(row)))
    testable = np.ones(bad.shape, dtype=np.bool_)
    for at, measured in enumerate(row):
        for index, issue in enumerate(issues):
            judged = measured.judged(issue)
            verdicts = [one.verdict for one in judged]
            bad[index, at], good[index, at] = verdicts.count(Verdict.BAD), verdicts.count(Verdict.GOOD)
            if judged and verdicts.count(Verdict.UNKNOWN) == len(judged):
                testable[index, at] = judged[-1].outcome is Outcome.NOT_RUN
    return Counts(bad=bad, good=good, testable=testable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    """What is believed of one issue along n versions."""

    belief: Belief
    bad: NDArray[np.bool_]
    """(n,): the most probable states of all versions together."""
    chance: Array
    """(n,): the probability that each version is bad."""
    posterior: Posterior
    index: int
    """Which of the posterior's issues it is."""

    def changed(self, old: int, new: int, *, bad: bool) -> float:
        """Return the probability that the state changes between two versions, to `bad` in the newer one."""
        introduced, fixed = self.posterior.turned(old, new)
        return float((introduced if bad else fixed)[self.index])


def believe(
    issues: Sequence[str], versions: Sequence[Version], row: Sequence[Measured], prior: Prior | None = None
) -> dict[str, Believed]:
    """Return what is believed of each issue that has any run; `row` holds the cells of `versions`, in order."""
    seen = counts(issues, row)
    steps = shares(versions)
    posterior = infer(prior or Prior(), steps, (seen.bad, seen.good), seen.testable)
    return {
        issue: Believed(
            belief=_belief(posterior, seen, index, versions, steps),
            bad=posterior.path[index],
            chance=posterior.bad[index],
            posterior=posterior,
            index=index,
        )
        for index, issue in enumerate(issues)
        if (seen.bad[index] + seen.good[index]).any()
    }


def _belief(posterior: Posterior, seen: Counts, index: int, versions: Sequence[Version], steps: Array) -> Belief:
    bad, good = seen.bad[index], seen.good[index]
    gaps = _gaps(posterior, seen, index, versions, steps)
    return Belief(
        probability=float(min(1.0, posterior.probability[index])),
        runs=int((bad + good).sum()),
        false_fail=float(posterior.false_fail[index]),
        false_pass=float(posterior.false_pass[index]),
        flaky=bool(((bad > 0) & (good > 0)).any()),
        gap=max(gaps, key=lambda gap: (gap.untested, gap.hidden), default=None),
        hidden=float(1 - np.prod([1 - gap.hidden for gap in gaps])),
    )


def _gaps(posterior: Posterior, seen: Counts, index: int, versions: Sequence[Version], steps: Array) -> list[Gap]:
    known = [int(at) for at in np.flatnonzero(seen.bad[index] + seen.good[index])]
    introduced, fixed = posterior.changes[index]
    path = posterior.path[index]
    return [
        Gap(
            after=versions[old],
            before=versions[new],
            untested=new - old - 1,
            hidden=hidden(steps[old:new], float(introduced), float(fixed), bad=bool(path[old])),
        )
        for old, new in pairwise(known)
        if new > old + 1 and path[old] == path[new]
    ]
