"""Ways to find where states change: all cells, bisection, and the search of this program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from orchestrator.model import Verdict
from orchestrator.pinpoint.prior import Prior
from orchestrator.search.choose import Goal, choose
from orchestrator.search.rows import Row
from orchestrator.simulation.histories import BAD, GOOD, UNKNOWN, States

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.simulation.histories import World

_VERDICTS = {BAD: Verdict.BAD, GOOD: Verdict.GOOD, UNKNOWN: Verdict.UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a strategy answered in a world."""

    bad: States
    """(J, n): the states it answers."""
    answered: NDArray[np.bool_]
    """(J,): False where it abstains."""
    seen: States
    """(J, n): where it got a verdict."""
    runs: int


class Strategy(Protocol):
    """One way to find where states change."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...

    @property
    def confidence(self) -> float | None:
        """How sure it says its answers are, if it does."""
        ...

    def play(self, world: World, random: np.random.Generator) -> Played:
        """Search a world."""
        ...


@dataclass(frozen=True, slots=True)
class Exhaustive:
    """Every cell, as many times as wanted; the majority is believed."""

    repeats: int = 1
    confidence: None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return "exhaustive" + (f" x{self.repeats}" if self.repeats > 1 else "")

    def play(self, world: World, random: np.random.Generator) -> Played:
        """Run all cells."""
        count = world.bad.shape[1]
        votes = np.stack([_vote(world, random, cell, self.repeats) for cell in range(count)], axis=1)
        return Played(
            bad=votes > 0,
            answered=(votes != 0).any(axis=1),
            seen=votes != 0,
            runs=count * self.repeats,
        )


@dataclass(frozen=True, slots=True)
class Bisection:
    """The textbook's: both ends, then the middle; it knows of one transition, and believes majorities.

    `shared` lets all issues use every cell that any of them asked for. Where a version tells nothing it goes on
    with the nearest one that does, as `git bisect skip` does.
    """

    repeats: int = 1
    shared: bool = True
    confidence: None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"bisection, {'shared cells' if self.shared else 'alone'}" + (
            f", majority of {self.repeats}" if self.repeats > 1 else ""
        )

    def play(self, world: World, random: np.random.Generator) -> Played:
        """Bisect every issue."""
        asked: dict[int, NDArray[np.int8]] = {}
        runs = 0
        bad, seen = np.zeros(world.bad.shape, dtype=np.bool_), np.zeros(world.bad.shape, dtype=np.bool_)
        answered = np.zeros(len(bad), dtype=np.bool_)
        for issue in range(len(bad)):
            votes = asked if self.shared else {}
            before = len(votes)

            def ask(cell: int, issue: int = issue, votes: dict[int, NDArray[np.int8]] = votes) -> int:
                if world.told and cell in (0, world.bad.shape[1] - 1):
                    return BAD if world.bad[issue, cell] else GOOD
                if cell not in votes:
                    votes[cell] = _vote(world, random, cell, self.repeats)
                seen[issue, cell] = votes[cell][issue] != UNKNOWN
                return int(votes[cell][issue])

            found = _bisected(ask, world.bad.shape[1])
            runs += (len(votes) - before) * self.repeats
            if found is not None:
                bad[issue], answered[issue] = found, True
        return Played(bad=bad, answered=answered, seen=seen, runs=runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """The search of this program, one cell at a time."""

    prior: Prior = field(default_factory=Prior)
    goal: Goal = field(default_factory=Goal)
    title: str = "this search"

    @property
    def name(self) -> str:
        """What it is called in tables."""
        confirmed = f", confirmed {self.goal.confirm} times" if self.goal.confirm else ""
        return f"{self.title} at {self.goal.confidence:.0%}{confirmed}"

    @property
    def confidence(self) -> float:
        """How sure it says its answers are."""
        return self.goal.confidence

    def play(self, world: World, random: np.random.Generator) -> Played:
        """Run the cells that the search asks for."""
        issues, cells = map(tuple, (map(str, range(size)) for size in world.bad.shape))
        row = Row.empty(issues, cells, self.prior, world.steps)
        if world.told:
            for cell in (0, -1):
                row = row.told(cells[cell], Verdict.BAD if world.bad[0, cell] else Verdict.GOOD)
        costs = dict.fromkeys(cells, 1.0)
        runs = 0
        while chosen := choose([row], self.goal, costs):
            verdicts = world.run(random, row.place[chosen[0]])
            row = row.observed(
                chosen[0], {issue: _VERDICTS[said] for issue, said in zip(issues, verdicts.tolist(), strict=True)}
            )
            runs += 1
            if not row.testable[:, row.place[chosen[0]]].any():
                del costs[chosen[0]]
        return Played(
            bad=row.posterior.path,
            answered=row.answered(self.goal.confidence),
            seen=row.bad + row.good > 0,
            runs=runs,
        )


def _vote(world: World, random: np.random.Generator, cell: int, repeats: int) -> NDArray[np.int8]:
    """Return what the majority of runs says of every issue; a tie says nothing."""
    said = np.sum([world.run(random, cell) for _ in range(repeats)], axis=0)
    majority: NDArray[np.int8] = np.sign(said).astype(np.int8)
    return majority


def _bisected(ask: Callable[[int], int], count: int) -> States | None:
    """Return the states (n,) of one issue that `ask` tells about; nothing where no version tells anything."""
    old = next((cell for cell in range(count) if ask(cell) != UNKNOWN), count)
    if old == count:
        return None
    new = next((cell for cell in range(count - 1, old, -1) if ask(cell) != UNKNOWN), old)
    states = np.full(count, ask(old) == BAD)
    if ask(old) == ask(new):
        return states
    unknown: set[int] = set()
    while inside := [cell for cell in range(old + 1, new) if cell not in unknown]:
        middle = min(inside, key=lambda cell: abs(2 * cell - old - new))
        said = ask(middle)
        if said == UNKNOWN:
            unknown.add(middle)
        elif said == ask(old):
            old = middle
        else:
            new = middle
    states[new:] = ask(new) == BAD
    return states
