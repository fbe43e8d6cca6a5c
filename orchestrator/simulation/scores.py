"""How well strategies did: accuracy, runs, calibration and abstentions, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.simulation.histories import draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.simulation.histories import Setting, World
    from orchestrator.simulation.strategies import Played, Strategy

_NORMAL = 1.959964
"""Of a two-sided interval of 95%."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well a strategy did in one world."""

    right: tuple[bool, ...]
    """By issue: whether the states of all versions that can be tested are right."""
    answered: tuple[bool, ...]
    runs: int
    exact: int = 0
    """Transitions of answers between two neighbouring versions that were both run."""
    exact_wrong: int = 0
    intervals: int = 0
    """Transitions of answers with untested versions in between."""
    intervals_wrong: int = 0
    """Of those, the ones without any change of that kind inside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How well a strategy did in many worlds."""

    strategy: str
    confidence: float | None
    trials: int
    issues: int
    accuracy: float
    accuracy_interval: tuple[float, float]
    """At 95%, by Wilson; the issues of one world share their runs, but not their histories."""
    runs: float
    """Mean number of cell runs in a world."""
    runs_error: float
    """Standard error of that mean."""
    calibration: float | None
    """Of the answers given at the confidence, how many were right; nothing where there are none."""
    calibration_interval: tuple[float, float] | None
    abstained: float
    """The share of issues without an answer."""
    exact: int
    exact_wrong: int
    intervals: int
    intervals_wrong: int


def play(strategy: Strategy, setting: Setting, seeds: Sequence[int]) -> list[Score]:
    """Return the scores in the worlds of some seeds: every strategy meets the same histories."""
    scores = []
    for seed in seeds:
        histories, luck = np.random.default_rng(seed).spawn(2)
        world = draw(setting, histories)
        scores.append(score(world, strategy.play(world, luck)))
    return scores


def replay(strategy: Strategy, worlds: Sequence[World], seeds: Sequence[int]) -> list[Score]:
    """Return the scores of searching all these worlds, one score per seed."""
    scores = []
    for seed in seeds:
        luck = np.random.default_rng(seed)
        apart = [score(world, strategy.play(world, luck)) for world in worlds]
        scores.append(
            Score(
                right=tuple(right for one in apart for right in one.right),
                answered=tuple(answered for one in apart for answered in one.answered),
                runs=sum(one.runs for one in apart),
                exact=sum(one.exact for one in apart),
                exact_wrong=sum(one.exact_wrong for one in apart),
                intervals=sum(one.intervals for one in apart),
                intervals_wrong=sum(one.intervals_wrong for one in apart),
            )
        )
    return scores


def score(world: World, played: Played) -> Score:
    """Compare an answer with the truth."""
    right = ((played.bad == world.bad) | ~world.testable).all(axis=1)
    counts = {"exact": 0, "exact_wrong": 0, "intervals": 0, "intervals_wrong": 0}
    for issue in np.flatnonzero(played.answered):
        bad, truth = played.bad[issue], world.bad[issue]
        seen = np.flatnonzero(played.seen[issue])
        for old, new in pairwise(seen):
            if bad[old] == bad[new]:
                continue
            kind = "exact" if new == old + 1 else "intervals"
            counts[kind] += 1
            counts[f"{kind}_wrong"] += bool(truth[old] != bad[old] or truth[new] != bad[new])
    return Score(right=tuple(right.tolist()), answered=tuple(played.answered.tolist()), runs=played.runs, **counts)


def summary(strategy: Strategy, scores: Sequence[Score]) -> Summary:
    """Sum up scores of one strategy."""
    right = np.concatenate([one.right for one in scores]).astype(np.bool_)
    answered = np.concatenate([one.answered for one in scores]).astype(np.bool_)
    runs = np.array([one.runs for one in scores], dtype=np.float64)
    sure = strategy.confidence is not None and answered.any()
    return Summary(
        strategy=strategy.name,
        confidence=strategy.confidence,
        trials=len(scores),
        issues=len(right),
        accuracy=float(right.mean()),
        accuracy_interval=wilson(int(right.sum()), len(right)),
        runs=float(runs.mean()),
        runs_error=float(runs.std(ddof=1) / sqrt(len(runs))) if len(runs) > 1 else 0.0,
        calibration=float(right[answered].mean()) if sure else None,
        calibration_interval=wilson(int(right[answered].sum()), int(answered.sum())) if sure else None,
        abstained=float(1 - answered.mean()),
        exact=sum(one.exact for one in scores),
        exact_wrong=sum(one.exact_wrong for one in scores),
        intervals=sum(one.intervals for one in scores),
        intervals_wrong=sum(one.intervals_wrong for one in scores),
    )


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return the score interval at 95% of a share (Wilson 1927)."""
    if not trials:
        return 0.0, 1.0
    share, square = hits / trials, _NORMAL**2
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    half = _NORMAL * sqrt(share * (1 - share) / trials + square / (4 * trials**2)) / (1 + square / trials)
    return max(0.0, middle - half), min(1.0, middle + half)
