"""Histories of issues along versions, and what runs of their cells come out as."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.bool_]

BAD, GOOD, UNKNOWN = 1, -1, 0
"""What a run says of an issue."""

_LONGEST_BLOCK = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The truth about J issues along n versions, and how probes lie about it."""

    bad: States
    """(J, n): True where a version is bad."""
    testable: States
    """(J, n): False where every run comes out unknown."""
    false_fail: float = 0.0
    false_pass: float = 0.0
    steps: NDArray[np.float64] | None = None
    """(n-1,): the share of every step in the axis; all alike if not given."""
    told: bool = False
    """Whether a search is told the states of the oldest and the newest version, without a run."""

    def run(self, random: np.random.Generator, cell: int) -> NDArray[np.int8]:
        """Return what one run of a cell says of the issues, (J,)."""
        lot = random.random(len(self.bad))
        fails = np.where(self.bad[:, cell], lot >= self.false_pass, lot < self.false_fail)
        known = np.where(fails, BAD, GOOD).astype(np.int8)
        return np.where(self.testable[:, cell], known, np.int8(UNKNOWN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How histories are drawn: states change at random places, and the oldest version is bad half of the time."""

    versions: int = 64
    issues: int = 10
    transitions: tuple[float, ...] = (0.30, 0.46, 0.16, 0.08)
    """How likely 0, 1, 2... transitions are; any positive weights."""
    false_fail: float = 0.0
    false_pass: float = 0.0
    untestable: tuple[float, float] = (0.0, 0.0)
    """The least and the greatest share of versions that cannot be tested, in blocks of neighbours."""
    told: bool = False
    """As in `World`. Every history is then good first, so that one transition is an introduction."""


def draw(setting: Setting, random: np.random.Generator) -> World:
    """Return a world drawn at random."""
    count = setting.versions
    weights = np.array(setting.transitions[:count], dtype=np.float64)  # no more transitions than steps
    bad = np.empty((setting.issues, count), dtype=np.bool_)
    for issue in range(setting.issues):
        number = random.choice(len(weights), p=weights / weights.sum())
        turns = np.zeros(count, dtype=np.int64)
        turns[random.choice(count - 1, number, replace=False) + 1] = 1
        first = 0 if setting.told else int(random.random() < 0.5)  # noqa: PLR2004 - even odds
        bad[issue] = (first + turns.cumsum()) % 2 == 1
    testable = ~np.tile(_blocked(setting, random), (setting.issues, 1))
    return World(
        bad=bad,
        testable=testable,
        false_fail=setting.false_fail,
        false_pass=setting.false_pass,
        told=setting.told,
    )


def _blocked(setting: Setting, random: np.random.Generator) -> States:
    """Return which versions cannot be tested, as one that cannot be installed: for no issue."""
    blocked = np.zeros(setting.versions, dtype=np.bool_)
    wanted = round(setting.versions * random.uniform(*setting.untestable))
    while blocked.sum() < wanted:
        length = min(int(random.integers(1, _LONGEST_BLOCK + 1)), wanted - int(blocked.sum()))
        start = int(random.integers(0, setting.versions))
        blocked[start : start + length] = True
    return blocked
