"""How surely the series of issues along the same cells are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.model import Belief, Gap
from orchestrator.pinpoint.batch import Inferred, infer_lines
from orchestrator.pinpoint.certificate import hidden
from orchestrator.pinpoint.prior import Prior, shares
from orchestrator.pinpoint.tally import Tallies, tallies
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orchestrator.pinpoint.measured import Measured

Array = NDArray[np.float64]

_ISSUES = 4096
"""Issues, each counted in every line, that are worked on at once: that bounds the memory it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Runs of J issues in n cells, as (J, n) arrays."""

    bad: Array
    good: Array
    testable: NDArray[np.bool_]
    """False where a verdict is unknown for a reason that another run would find again."""


def counts(issues: Sequence[str], row: Sequence[Measured]) -> Counts:
    """Count the runs of issues in the cells of a row."""
    return _arrays([tallies(issue, row) for issue in issues], len(row))


def _arrays(rows: Sequence[Tallies], count: int) -> Counts:
    bad, good, testable = np.array(rows, dtype=np.float64).reshape(len(rows), count, 3).transpose(2, 0, 1)
    return Counts(bad=bad, good=good, testable=testable > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    """What is believed of one issue along n versions."""

    belief: Belief
    bad: NDArray[np.bool_]
    """(n,): the most probable states of all versions together."""
    chance: Array
    """(n,): the probability that each version is bad."""
    inferred: Inferred

    def changed(self, old: int, new: int, *, bad: bool) -> float:
        """Return the probability that the state changes between two versions, to `bad` in the newer one."""
        introduced, fixed = self.inferred.turned(old, new)
        return introduced if bad else fixed


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of issues along the versions of a line."""

    versions: Sequence[Version]
    rows: Sequence[Tallies]


def believe(
    issues: Sequence[str], versions: Sequence[Version], row: Sequence[Measured], prior: Prior | None = None
) -> dict[str, Believed]:
    """Return what is believed of each issue that has any run; `row` holds the cells of `versions`, in order."""
    seen = Seen(versions, [tallies(issue, row) for issue in issues])
    found = {place: one for _, place, one in believe_lines([seen], prior)}
    return {issue: found[place] for place, issue in enumerate(issues) if place in found}


def believe_lines(lines: Sequence[Seen], prior: Prior | None = None) -> Iterator[tuple[int, int, Believed]]:
    """Return what is believed of each issue that has any run, by the number of its line and its place there.

    They come in no particular order, and what they hold is large: each is best used up before the next.
    """
    prior = prior or Prior()
    groups: dict[bytes, list[tuple[int, Seen, Array]]] = {}
    for number, seen in enumerate(lines):
        steps = shares(seen.versions)
        groups.setdefault(steps.tobytes(), []).append((number, seen, steps))
    for group in groups.values():
        for part in _parts(group):
            yield from _believed(prior, part)


def _parts(group: Iterable[tuple[int, Seen, Array]]) -> Iterator[list[tuple[int, Seen, Array]]]:
    part: list[tuple[int, Seen, Array]] = []
    issues = 0
    for one in group:
        part.append(one)
        issues += len(one[1].rows)
        if issues >= _ISSUES:
            yield part
            part, issues = [], 0
    if issues:
        yield part


def _believed(prior: Prior, lines: Sequence[tuple[int, Seen, Array]]) -> Iterator[tuple[int, int, Believed]]:
    """Believe lines of the same steps."""
    distinct: dict[Tallies, int] = {}
    rows = [
        np.array([distinct.setdefault(row, len(distinct)) for row in seen.rows], dtype=np.intp)
        for _, seen, _ in lines
    ]
    steps = lines[0][2]
    seen = _arrays(list(distinct), len(steps) + 1 if distinct else 0)
    facts = [_facts(row) for row in distinct]
    shares_of = steps.tolist()
    for one in infer_lines(prior, steps, (seen.bad, seen.good), seen.testable, rows):
        number, line, _ = lines[one.line]
        known = facts[rows[one.line][one.place]]
        believed = Believed(
            belief=_belief(one, known, line.versions, shares_of),
            bad=one.path,
            chance=one.bad,
            inferred=one,
        )
        yield number, one.place, believed


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a row says by itself: how many runs, whether any disagree, and between which versions others lie."""

    runs: int
    flaky: bool
    apart: tuple[tuple[int, int], ...]


def _facts(row: Tallies) -> _Facts:
    known = [at for at, (bad, good, _) in enumerate(row) if bad or good]
    return _Facts(
        sum(bad + good for bad, good, _ in row),
        any(bad and good for bad, good, _ in row),
        tuple((old, new) for old, new in pairwise(known) if new > old + 1),
    )


def _belief(one: Inferred, known: _Facts, versions: Sequence[Version], steps: Sequence[float]) -> Belief:
    gaps = [_gap(one, old, new, versions, steps) for old, new in known.apart if one.path[old] == one.path[new]]
    return Belief(
        probability=min(1.0, one.probability),
        runs=known.runs,
        false_fail=one.false_fail,
        false_pass=one.false_pass,
        flaky=known.flaky,
        gap=max(gaps, key=lambda gap: (gap.untested, gap.hidden), default=None),
        hidden=1 - math.prod((1 - gap.hidden for gap in gaps), start=1.0),
    )


def _gap(one: Inferred, old: int, new: int, versions: Sequence[Version], steps: Sequence[float]) -> Gap:
    return Gap(
        after=versions[old],
        before=versions[new],
        untested=new - old - 1,
        hidden=hidden(steps[old:new], one.introduced, one.fixed, bad=bool(one.path[old])),
    )
