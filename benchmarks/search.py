"""What the adaptive search gains: accuracy, runs and calibration where the truth is known (docs/benchmarks.md).

    python benchmarks/search.py [--trials 300] [--only joint,single,untestable,many,time,attribution] [--json FILE]

Histories are drawn with fixed seeds, and all searches of a table meet the same ones. A row is right where the
states of all versions of an issue are. Two processes, ten minutes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there: two processes are enough

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from orchestrator.model import Verdict  # noqa: E402
from orchestrator.pinpoint.prior import STEADY, Noise, Prior  # noqa: E402
from orchestrator.search.choose import Goal, choose  # noqa: E402
from orchestrator.search.rows import Row  # noqa: E402
from orchestrator.simulation import (  # noqa: E402
    Adaptive,
    Bisection,
    Exhaustive,
    Score,
    Setting,
    Strategy,
    draw,
    play,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestrator.simulation import Summary

PROCESSES = 2
ATTRIBUTIONS = 500
FIRST_SEED = 20_000
_TINY = 1e-6


def searching(
    title: str,
    confidence: float,
    *,
    rates: tuple[float, float] | None = None,
    single: bool = False,
    confirm: int = 0,
) -> Adaptive:
    """Return a search that knows the rates of noise, or does not."""
    goal = Goal(confidence=confidence, confirm=confirm)
    if rates is None:
        return Adaptive(title=title, goal=goal, prior=Prior(single=single))
    noise = (Noise(false_fail=max(_TINY, rates[0]), false_pass=max(_TINY, rates[1])),) if any(rates) else STEADY
    return Adaptive(title=title, goal=goal, prior=Prior(single=single, noise=noise))


def joint() -> Iterator[tuple[str, Setting, tuple[Strategy, ...]]]:
    """Yield the tables of many issues with several transitions each."""
    yield (
        "64 versions, 10 issues with 0 to 3 transitions, no noise",
        Setting(),
        (
            Exhaustive(),
            Bisection(shared=False),
            Bisection(),
            searching("steady probes", 0.93, rates=(0, 0)),
            searching("steady probes", 0.95, rates=(0, 0)),
            searching("steady probes", 0.98, rates=(0, 0)),
            searching("steady probes", 0.95, rates=(0, 0), confirm=1),
            searching("rates unknown", 0.95),
        ),
    )
    yield (
        "64 versions, 10 issues with 0 to 3 transitions, 5% two-sided flakes",
        Setting(false_fail=0.05, false_pass=0.05),
        (
            Exhaustive(),
            Exhaustive(5),
            Bisection(),
            Bisection(3),
            Bisection(7),
            searching("rates known", 0.92, rates=(0.05, 0.05)),
            searching("rates known", 0.95, rates=(0.05, 0.05)),
            searching("rates known", 0.98, rates=(0.05, 0.05)),
            searching("rates unknown", 0.92),
            searching("rates unknown", 0.95),
            searching("rates unknown", 0.98),
        ),
    )


NOISES = (
    ("5% two-sided", 0.05, 0.05, 0.88),
    ("10% two-sided", 0.10, 0.10, 0.88),
    ("20% two-sided", 0.20, 0.20, 0.95),
    ("a bug that shows 30% of the time", 0.0, 0.70, 0.95),
    ("a bug that shows half of the time", 0.0, 0.50, 0.95),
    ("a probe that fails on 20% of good versions", 0.20, 0.0, 0.95),
)


def single() -> Iterator[tuple[str, Setting, tuple[Strategy, ...]]]:
    """Yield the tables of one transition between ends that the search is told."""
    for title, fail, passes, stop in NOISES:
        yield (
            f"64 versions, one transition, both ends given: {title}",
            Setting(issues=1, transitions=(0, 1), false_fail=fail, false_pass=passes, told=True),
            (
                Bisection(),
                Bisection(3),
                Bisection(7),
                searching("rates known", 0.95, rates=(fail, passes), single=True),
                *((searching("rates unknown", stop, single=True),) if stop != 0.95 else ()),  # noqa: PLR2004
                searching("rates unknown", 0.95, single=True),
            ),
        )


def untestable() -> Iterator[tuple[str, Setting, tuple[Strategy, ...]]]:
    """Yield the tables of histories with versions that cannot be tested."""
    yield (
        "64 versions, 10 issues, 10 to 30% of the versions untestable in blocks, no noise",
        Setting(untestable=(0.1, 0.3)),
        (
            Exhaustive(),
            Bisection(),
            searching("steady probes", 0.95, rates=(0, 0)),
            searching("rates unknown", 0.95),
        ),
    )


def many() -> Iterator[tuple[str, Setting, tuple[Strategy, ...]]]:
    """Yield the table where running everything is as good."""
    yield (
        "32 versions, 40 issues, no noise: nothing to gain",
        Setting(versions=32, issues=40),
        (
            Exhaustive(),
            Bisection(),
            searching("steady probes", 0.95, rates=(0, 0)),
            searching("steady probes", 0.99, rates=(0, 0)),
        ),
    )


TABLES = {"joint": joint, "single": single, "untestable": untestable, "many": many}


def scored(pool: ProcessPoolExecutor, strategy: Strategy, setting: Setting, trials: int) -> list[Score]:
    """Return the scores of trials with fixed seeds, worked out in several processes."""
    seeds = range(FIRST_SEED, FIRST_SEED + trials)
    parts = [seeds[start :: PROCESSES * 4] for start in range(PROCESSES * 4)]
    waiting = [pool.submit(play, strategy, setting, part) for part in parts if part]
    return [score for one in waiting for score in one.result()]


def rendered(rows: list[Summary]) -> str:
    """Return a table of summaries."""
    headers = (
        "search",
        "accuracy",
        "95% interval",
        "runs",
        "± s.e.",
        "answers right",
        "95% interval",
        "abstained",
    )
    cells = [
        (
            row.strategy,
            f"{row.accuracy:.3f}",
            "{:.3f}-{:.3f}".format(*row.accuracy_interval),
            f"{row.runs:.1f}",
            f"{row.runs_error:.1f}",
            "" if row.calibration is None else f"{row.calibration:.3f}",
            "" if row.calibration_interval is None else "{:.3f}-{:.3f}".format(*row.calibration_interval),
            f"{row.abstained:.1%}",
        )
        for row in rows
    ]
    return tabulate(cells, headers=headers, disable_numparse=True, colalign=("left", *["right"] * 7))


def exactness(rows: list[Summary]) -> str:
    """Return how often transitions were wrong: exact ones, and intervals."""
    headers = ("search", "histories", "exact transitions", "wrong", "intervals", "wrong")
    cells = [(r.strategy, r.issues, r.exact, r.exact_wrong, r.intervals, r.intervals_wrong) for r in rows]
    return tabulate(cells, headers=headers)


def choosing(versions: int = 200, issues: int = 50, limit: int = 300) -> dict[str, Any]:
    """Return how long each choice takes in one game, in milliseconds, at 5% of flakes and unknown rates."""
    found = {}
    for title, rate in (("no noise", 0.0), ("5% flakes", 0.05)):
        random = np.random.default_rng(FIRST_SEED)
        world = draw(Setting(versions=versions, issues=issues, false_fail=rate, false_pass=rate), random)
        names, cells = [f"issue{j}" for j in range(issues)], [f"cell{v}" for v in range(versions)]
        row, costs = Row.empty(names, cells, Prior()), dict.fromkeys(cells, 1.0)
        taken: list[float] = []
        while len(taken) < limit:
            start = time.perf_counter()
            chosen = choose([row], Goal(), costs)
            taken.append((time.perf_counter() - start) * 1e3)
            if not chosen:
                break
            said = world.run(random, row.place[chosen[0]])
            verdicts = {n: Verdict.BAD if one > 0 else Verdict.GOOD for n, one in zip(names, said, strict=True)}
            row = row.observed(chosen[0], verdicts)
        found[title] = {"choices": len(taken), "median": statistics.median(taken), "worst": max(taken)}
    return found


def attribution() -> None:
    """Print the table of attribution."""
    import attribution as beside  # noqa: PLC0415 - needed here only

    print("\nWhich package a change comes from\n")
    print(beside.table([beside.simulate(row, ATTRIBUTIONS, 1) for row in beside.ROWS]))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--only", default="joint,single,untestable,many,time,attribution")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    wanted = given.only.split(",")
    found: dict[str, Any] = {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        for name in [name for name in TABLES if name in wanted]:
            for title, setting, strategies in TABLES[name]():
                started = time.monotonic()
                rows = [summary(one, scored(pool, one, setting, given.trials)) for one in strategies]
                found[title] = [asdict(row) for row in rows]
                print(f"\n{title} ({given.trials} trials, {time.monotonic() - started:.0f} s)\n\n{rendered(rows)}")
                if name == "untestable":
                    print(f"\n{exactness(rows)}")
                sys.stdout.flush()
    if "time" in wanted:
        found["time"] = choosing()
        print("\nChoosing the next cell, 200 versions, 50 issues, rates unknown (ms)\n")
        print(
            tabulate(
                [(name, *one.values()) for name, one in found["time"].items()], ("", "choices", "median", "worst")
            )
        )
    if given.json:
        given.json.write_text(json.dumps(found, indent=2), encoding="utf-8")
    if "attribution" in wanted:
        attribution()


if __name__ == "__main__":
    main()
