#!/usr/bin/env python3
"""How large the page of 10,000 cells is and how soon it shows: in Python and in a headless Chromium.

Two synthetic reports of 10 issues each, along 20 versions of torch in 500 combinations of Python, torchao and
numpy: `collapsing`, where most combinations agree, and `worst`, where hardly any do and 100,000 points are shown.

`paint` is the first contentful paint, `ready` when the page answers to clicks and keys; both in milliseconds after
the navigation began, the median of several loads of the file. `idle` is when the main thread has nothing left to
do: the end of the last task of 50 ms or more. `of bound` is what a number is of its bound.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright  # noqa: E402
from tabulate import tabulate  # noqa: E402

from orchestrator.model import (  # noqa: E402
    Belief,
    CellRow,
    Device,
    Fingerprint,
    Moved,
    Neighbour,
    Origin,
    Outcome,
    Point,
    Provenance,
    Report,
    Series,
    Setting,
    Topic,
    Transition,
    Verdict,
)
from orchestrator.pinpoint import state, transitions  # noqa: E402
from orchestrator.report import render  # noqa: E402
from orchestrator.versions import Version  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

SIZE, PAINT = 3_000_000, 1000.0
"""The bounds: bytes of the file, milliseconds to the first paint."""

STARTED = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
TORCH = tuple(Version(f"2.{minor}.{patch}") for minor in range(10) for patch in range(2))
OTHERS = tuple(product(("3.9", "3.10", "3.11", "3.12", "3.13"), range(20), range(5)))
ISSUES = tuple(f"torch-issue-{number}" for number in range(10))
ON = Fingerprint(device="Intel(R) Xeon(R) Processor", driver=None, system="Linux 6.1.0 x86_64")

LAST_TASK = """() => new Promise((done) => {
  const observer = new PerformanceObserver(() => {});
  observer.observe({type: "longtask", buffered: true});
  setTimeout(() => {
    const ends = observer.takeRecords().map((task) => task.startTime + task.duration);
    done(Math.max(0, ...ends));
  }, 1000);
})"""


def cell_id(python: str, ao: int, numpy: int, version: Version) -> str:
    """Return the id of a cell as the matrix would name it."""
    return f"torch-cpu-py{python}-numpy2.{numpy}.0-torch{version}-torchao0.{ao}.0"


def cells(chance: random.Random) -> Iterator[CellRow]:
    """Yield all cells, each with its attempt and what differs from the version before."""
    for python, ao, numpy in OTHERS:
        for before, version in pairwise((None, *TORCH)):
            names = ("torch", "triton", "sympy", "nvidia-cudnn-cu12", "nvidia-nccl-cu12")
            moved = tuple(Moved(name=name, before=str(before), after=str(version)) for name in names)
            neighbour = (
                {"torch": Neighbour(cell=cell_id(python, ao, numpy, before), moved=moved)} if before else {}
            )
            name = cell_id(python, ao, numpy, version)
            yield CellRow(
                cell=name,
                stack="torch-cpu",
                python=python,
                versions={"torch": str(version), "torchao": f"0.{ao}.0", "numpy": f"2.{numpy}.0"},
                lock=f"{chance.getrandbits(256):064x}",
                origin=Origin(
                    attempt=f"{name}-{chance.getrandbits(32):08x}",
                    runtime="docker 20.10.24",
                    base=f"sha256:{int(python[2:]):064x}",
                    started=STARTED + timedelta(seconds=chance.randrange(86400)),
                    duration=chance.uniform(5, 60),
                    fingerprint=ON,
                ),
                neighbours=neighbour,
            )


def agreeing(issue: int, other: int, chance: random.Random) -> tuple[int, ...]:
    """Return where the state changes: all combinations of an issue agree, but every fiftieth has a change more."""
    del chance
    return (5 + issue, 17) if other % 50 == 0 else (5 + issue,)


def differing(issue: int, other: int, chance: random.Random) -> tuple[int, ...]:
    """Return where the state changes: anywhere, three or four times."""
    del issue, other
    return tuple(sorted(chance.sample(range(1, len(TORCH)), chance.choice((3, 4)))))


def series(name: str, other: tuple[str, int, int], places: tuple[int, ...], chance: random.Random) -> Series:
    """Return a series that changes its state at `places`; a tenth of its points differ in how they are bad."""
    python, ao, numpy = other
    points = []
    for place, version in enumerate(TORCH):
        bad = sum(place >= one for one in places) % 2 == 1
        crash = bad and chance.random() < 0.1  # noqa: PLR2004 - as told
        outcome = Outcome.CRASH if crash else Outcome.FAIL if bad else Outcome.PASS
        signature = ("SIGSEGV in probe" if crash else f"AssertionError: {name}: values differ") if bad else None
        log = ("    def test_it():", f">       assert close({name})", f"E       {signature}") if bad else ()
        points.append(
            Point(
                version=version,
                cell=cell_id(python, ao, numpy, version),
                outcome=outcome,
                verdict=Verdict.BAD if bad else Verdict.GOOD,
                signature=signature,
                bad=int(bad),
                good=int(not bad),
                duration=chance.uniform(0.01, 9.0),
                log=log if place in places else (),
            )
        )
    changes: tuple[Transition, ...] = transitions(points)
    return Series(
        issue=name,
        stack="torch-cpu",
        axis="torch",
        fixed={"python": python, "torchao": f"0.{ao}.0", "numpy": f"2.{numpy}.0"},
        points=tuple(points),
        transitions=changes,
        state=state(points),
        belief=Belief(probability=0.97, runs=len(points), false_fail=0.01, false_pass=0.01, flaky=False),
    )


def report(where: Callable[[int, int, random.Random], tuple[int, ...]], seed: int) -> Report:
    """Return a report whose series change where the function says."""
    chance = random.Random(seed)  # noqa: S311 - no secret

    def drawn() -> random.Random:
        """Series that are to agree are drawn alike."""
        return random.Random(seed) if where is agreeing else chance  # noqa: S311 - no secret

    return Report(
        series=tuple(
            series(name, other, where(number, place, chance), drawn())
            for number, name in enumerate(ISSUES)
            for place, other in enumerate(OTHERS)
        ),
        findings=(),
        cells=tuple(sorted(cells(chance), key=lambda row: row.cell)),
        issues={name: Topic(title=f"Values of {name} differ", link=None) for name in ISSUES},
        stacks={"torch-cpu": Setting(device=Device.CPU)},
        provenance=Provenance(tool="matrix-orchestrator 0.1.0", matrix="5b1c7f0e9ad2", started=STARTED),
    )


def load(page: Page, path: Path) -> tuple[float, float, float]:
    """Load the file; return the times of the first paint, of being ready, and of the end of the last long task."""
    page.goto(path.as_uri())
    idle = page.evaluate(LAST_TASK)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    ready = page.evaluate("performance.getEntriesByName('ready')[0].startTime")
    return paint, ready, max(idle, ready, paint)


def main() -> int:
    """Print the table; the exit code is 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", type=int, default=5, help="loads of each page")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to write the pages")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        home = given.keep or Path(scratch)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, where in (("collapsing", agreeing), ("worst", differing)):
            made = report(where, given.seed)
            begun = time.perf_counter()
            text = render(made, "html")
            rendered = time.perf_counter() - begun
            path = home / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            size = path.stat().st_size
            page = browser.new_context().new_page()
            times = [load(page, path) for _ in range(given.loads)]
            paint, ready, idle = (statistics.median(column) for column in zip(*times, strict=True))
            points = page.locator(".m tbody td").count()
            rows.append((name, points, size, size / SIZE, rendered, paint, paint / PAINT, ready, idle))
        browser.close()
    headers = ("report", "points", "bytes", "of bound", "render s", "paint ms", "of bound", "ready ms", "idle ms")
    print(tabulate(rows, headers, floatfmt=("", "", "", ".2f", ".1f", ".0f", ".2f", ".0f", ".0f")))
    return int(any(row[3] > 1 or row[6] > 1 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
