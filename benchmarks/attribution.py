#!/usr/bin/env python3
"""How often the search finds the packages to blame, and after how many cells: beside two usual ways.

Random culprits among packages that differ between a good and a bad cell; some hybrids cannot be installed, each
by chance, which is learned only by trying. `cells` counts hybrids that were run; those that turned out
uninstallable, where nothing runs, are counted apart. The good and the bad cell are known and count nowhere.

An answer is right where it is exactly the culprit; `set` and `none` are abstentions: several alternatives, or
nothing that explains what was seen. Shares come with Wilson's 95% interval, means with that of the normal law.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from itertools import pairwise, starmap
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tabulate import tabulate  # noqa: E402

from orchestrator.attribution.attribution import Attribution  # noqa: E402
from orchestrator.attribution.belief import Noise  # noqa: E402
from orchestrator.model import CauseKind  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    Units = frozenset[str]
    Method = Callable[["World"], tuple[str, Units]]

Z = 1.96
SHARE, CELLS = 0.99, 8.0
"""The bar: of eight packages, a pair to blame, a fifth of the hybrids uninstallable."""

UNKNOWN = tuple(
    Noise(false_fail=f, false_pass=g) for f in (0.001, 0.02, 0.05, 0.1, 0.2) for g in (0.001, 0.02, 0.05, 0.1, 0.2)
)


@dataclass(slots=True, kw_only=True)
class World:
    """One culprit, and what running hybrids costs to find it."""

    units: tuple[str, ...]
    culprit: Units
    uninstallable: float
    flakes: float
    chance: random.Random
    cells: int = 0
    tries: int = 0
    refused: dict[Units, bool] = field(default_factory=dict)

    def run(self, taken: Units) -> bool | None:
        """Run a hybrid; return whether it failed, None where it cannot be installed. The two ends are free."""
        if len(taken) in (0, len(self.units)):
            return bool(taken)
        if taken not in self.refused:
            self.refused[taken] = self.chance.random() < self.uninstallable
        if self.refused[taken]:
            self.tries += 1
            return None
        self.cells += 1
        return (self.culprit <= taken) != (self.chance.random() < self.flakes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is simulated, and how."""

    what: str
    method: Method
    units: int = 8
    culprit: int = 2
    uninstallable: float = 0.2
    flakes: float = 0.0
    bar: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What a row came to over all trials."""

    what: str
    trials: int
    exact: int
    wrong: int
    sets: int
    sets_with_truth: int
    none: int
    cells: float
    cells_margin: float
    tries: float
    milliseconds: float
    """Per trial, everything included."""
    met: bool | None


def attribute(*noise: Noise) -> Method:
    """Return the search of the orchestrator under these rates of noise."""

    def method(world: World) -> tuple[str, Units]:
        state = Attribution(units=world.units, noise=noise or (Noise(),))
        while (hybrid := state.next()) is not None:
            failed = world.run(hybrid)
            if failed is None:
                state = state.unavailable(hybrid)
            else:
                state = state.observed(hybrid, failed=int(failed), passed=int(not failed))
        answer = state.answer()
        if answer.kind is CauseKind.SET:
            truth = any(one == world.culprit for one, _ in answer.alternatives)
            return ("set with the truth" if truth else "set"), answer.units
        return ("none" if answer.kind is CauseKind.ELSE else "exact"), answer.units

    return method


def one_at_a_time(world: World) -> tuple[str, Units]:
    """Take each package alone from the bad cell, and all but it; blame what is not good without it."""
    whole = frozenset(world.units)
    alone = [one for one in world.units if world.run(frozenset({one}))]
    needed = frozenset(one for one in world.units if world.run(whole - {one}) is False)
    blamed = frozenset(alone) or needed
    return ("exact" if blamed else "none"), blamed


def ddmin(world: World) -> tuple[str, Units]:
    """Minimise what is taken from the bad cell by delta debugging (Zeller and Hildebrandt 2002), results kept."""
    known: dict[Units, bool | None] = {}

    def fails(taken: Units) -> bool:
        if taken not in known:
            known[taken] = world.run(taken)
        return known[taken] is True

    taken, parts = list(world.units), 2
    while len(taken) > 1:
        bounds = [round(part * len(taken) / parts) for part in range(parts + 1)]
        chunks = [taken[start:end] for start, end in pairwise(bounds)]
        rests = [[one for one in taken if one not in chunk] for chunk in chunks]
        if (smaller := next((chunk for chunk in chunks if fails(frozenset(chunk))), None)) is not None:
            taken, parts = smaller, 2
        elif (rest := next((rest for rest in rests if fails(frozenset(rest))), None)) is not None:
            taken, parts = rest, max(parts - 1, 2)
        elif parts < len(taken):
            parts = min(2 * parts, len(taken))
        else:
            break
    return "exact", frozenset(taken)


def simulate(row: Row, trials: int, seed: int) -> Figure:
    """Return what a row comes to; the same seed gives the same worlds to every row of the same kind."""
    came: Counter[str] = Counter()
    cells, tries = [], []
    start = time.perf_counter()
    for trial in range(trials):
        chance = random.Random(f"{seed} {trial}")  # noqa: S311
        units = tuple(f"package-{number}" for number in range(row.units))
        world = World(
            units=units,
            culprit=frozenset(chance.sample(units, row.culprit)),
            uninstallable=row.uninstallable,
            flakes=row.flakes,
            chance=chance,
        )
        kind, blamed = row.method(world)
        came["wrong" if kind == "exact" and blamed != world.culprit else kind] += 1
        cells.append(world.cells)
        tries.append(world.tries)
    mean = statistics.fmean(cells)
    return Figure(
        what=row.what,
        trials=trials,
        exact=came["exact"],
        wrong=came["wrong"],
        sets=came["set"] + came["set with the truth"],
        sets_with_truth=came["set with the truth"],
        none=came["none"],
        cells=mean,
        cells_margin=Z * statistics.stdev(cells) / sqrt(trials),
        tries=statistics.fmean(tries),
        milliseconds=(time.perf_counter() - start) / trials * 1000,
        met=came["exact"] >= SHARE * trials and mean <= CELLS if row.bar else None,
    )


def wilson(count: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95% score interval of a share."""
    share, shrink = count / trials, 1 + Z**2 / trials
    middle = (share + Z**2 / (2 * trials)) / shrink
    margin = Z / shrink * sqrt(share * (1 - share) / trials + Z**2 / (4 * trials**2))
    return middle - margin, middle + margin


ROWS = (
    Row(what="pair", method=attribute(), bar=True),
    Row(what="pair, one at a time", method=one_at_a_time),
    Row(what="pair, ddmin", method=ddmin),
    Row(what="pair, half uninstallable", method=attribute(), uninstallable=0.5),
    Row(what="pair, all installable", method=attribute(), uninstallable=0.0),
    Row(what="single", method=attribute(), culprit=1),
    Row(what="three", method=attribute(), culprit=3),
    Row(what="four: none is right", method=attribute(), culprit=4),
    Row(what="pair, 5% flakes, known", method=attribute(Noise(false_fail=0.05, false_pass=0.05)), flakes=0.05),
    Row(what="pair, 5% flakes, unknown", method=attribute(*UNKNOWN), flakes=0.05),
    Row(what="pair, 5% flakes, ddmin", method=ddmin, flakes=0.05),
    Row(what="pair of 12", method=attribute(), units=12),
)


def table(figures: list[Figure]) -> str:
    """Return what people read."""
    head = ["culprit", "exact", "95%", "wrong", "set (with truth)", "none", "cells", "uninstallable", "ms", "bar"]
    verdicts = {None: "", True: "met", False: "NOT MET"}
    rows = [
        [
            one.what,
            f"{one.exact / one.trials:.3f}",
            "{:.3f} to {:.3f}".format(*wilson(one.exact, one.trials)),
            one.wrong,
            f"{one.sets} ({one.sets_with_truth})",
            one.none,
            f"{one.cells:.2f} ± {one.cells_margin:.2f}",
            f"{one.tries:.2f}",
            f"{one.milliseconds:.0f}",
            verdicts[one.met],
        ]
        for one in figures
    ]
    return tabulate(rows, headers=head, disable_numparse=True)


def main() -> None:
    """Simulate, print the table, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=500, metavar="N", help="of each row (default 500)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the worlds (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file, too")
    given = parser.parse_args()
    figures = list(starmap(simulate, ((row, given.trials, given.seed) for row in ROWS)))
    print(table(figures))
    if given.json:
        document = {"seed": given.seed, "figures": [asdict(one) for one in figures]}
        given.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
