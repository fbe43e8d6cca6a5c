#!/usr/bin/env python3
"""How fast a report comes out of the store, and how fast JUnit files are read.

`store`: 10,000, 100,000 and 1,000,000 results (100 probes in each cell) from the store to a file with the JSON
report: what a run does after locking, when everything is known. Each size is measured in a fresh process, once for
histories as packages have them and once for `adverse` ones, where every series differs.

`junit`: files of a hundred cases, as pytest writes them, beside a bare `iterparse` over the same bytes.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = (10_000, 100_000, 1_000_000)
SECONDS, MEGABYTES, RATIO = 6.0, 1000.0, 0.5
"""The bars: for a million results, and for JUnit beside a bare iterparse."""

FILES, CASES = 100, 100
"""JUnit files, and the cases in each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One way from the store to a file, in seconds of its parts; memory is the peak of the whole process."""

    results: int
    kind: str
    recall: float
    answer: float
    write: float
    cpu: float
    megabytes: float
    bytes: int

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.recall + self.answer + self.write


def passage(results: int, kind: str, store: Path) -> Passage:
    """Go from a filled store to a file, in this process."""
    from many_results import workshop  # noqa: PLC0415 - the parent need not load all this
    from orchestrator.knowledge import survey  # noqa: PLC0415
    from orchestrator.matrix import Selection  # noqa: PLC0415
    from orchestrator.pipeline import conclude  # noqa: PLC0415
    from orchestrator.report import pieces  # noqa: PLC0415

    shop, cells = workshop(results, store)
    target = store.with_suffix(".json")
    begun, cpu = time.perf_counter(), time.process_time()
    field = survey(shop, Selection(), cells)
    if any(one.missing("missing") for one in field.known.values()):
        raise SystemExit("the store is not full")
    recalled = time.perf_counter()
    report = conclude(shop, field, cells, datetime.now(UTC))
    del field
    answered = time.perf_counter()
    with target.open("wb") as file:
        file.writelines(pieces(report, "json"))
    written = time.perf_counter()
    return Passage(
        results=results,
        kind=kind,
        recall=recalled - begun,
        answer=answered - recalled,
        write=written - answered,
        cpu=time.process_time() - cpu,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        bytes=target.stat().st_size,
    )


def passages(results: int, kind: str, directory: Path, repeat: int) -> Passage:
    """Fill a store and measure the way from it several times; returns the median one."""
    from many_results import fill  # noqa: PLC0415

    store = directory / f"{kind}-{results}"
    say(f"recording {results:,} results ({kind})")
    fill(results, store, adverse=kind == "adverse")
    found = []
    for _ in range(repeat):
        say(f"load {os.getloadavg()[0]:.1f}")
        command = [sys.executable, __file__, "--passage", str(results), kind, str(store)]
        found.append(Passage(**json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)))
    shutil.rmtree(store)
    store.with_suffix(".json").unlink()
    return sorted(found, key=lambda one: one.seconds)[len(found) // 2]


def junit_file(number: int) -> bytes:
    """Return a file as pytest writes it: a third of the cases failed, and said so at length."""
    attempt = f"cell-{number}"
    cases = []
    for case in range(CASES):
        text = f"RuntimeError: mat1 and mat2 shapes cannot be multiplied ({number}x{case} and 16x2048)"
        trace = escape("\n".join(f"probes/test_{case % 10}.py:{line}: <{text}>" for line in range(12)))
        failure = f"<failure message={quoteattr(text)}>{trace}</failure>" if case % 3 == 0 else ""
        cases.append(
            f'<testcase classname="test_{case % 10}" name="test_{case}[cpu-float16]" time="{case / 100:.3f}">'
            f'<properties><property name="mae" value="{case / 7}" /></properties>{failure}</testcase>'
        )
    head = f'<testsuite name="{attempt}" errors="0" failures="34" skipped="0" tests="{CASES}" time="12.3"'
    suite = f'{head} timestamp="2026-11-20T09:30:00" hostname="{attempt}">{"".join(cases)}</testsuite>'
    return f'<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">{suite}</testsuites>'.encode()


def junit(repeat: int) -> tuple[list[float], list[float], int]:
    """Return the seconds that our reading and a bare iterparse took in each round, and the bytes of a round."""
    from orchestrator.results.junit import read_junit  # noqa: PLC0415

    files = [(f"cell-{number}", junit_file(number)) for number in range(FILES)]

    def ours() -> None:
        if sum(len(read_junit(data, attempt)) for attempt, data in files) != FILES * CASES:
            raise SystemExit("cases are missing")

    def bare() -> None:
        for _, data in files:
            for _ in ET.iterparse(io.BytesIO(data)):  # noqa: S314 - made above
                pass

    ours()
    rounds = [(timed(bare), timed(ours)) for _ in range(repeat)]
    return [one for _, one in rounds], [one for one, _ in rounds], sum(len(data) for _, data in files)


def timed(work: Callable[[], None]) -> float:
    """Return the CPU seconds that something takes in this process: other work does not count."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def say(line: str) -> None:
    """Tell whoever waits what is going on."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")


def met(value: float, bar: float, *, least: bool = False) -> str:
    """Return a bar and whether it is met."""
    good = value >= bar if least else value <= bar
    return f"{'>=' if least else '<='} {bar:g}: {'met' if good else 'NOT MET'}"


def table(found: Sequence[Passage]) -> str:
    """Return the passages as a table for people; growth is the time of a result beside the smallest size's."""
    from tabulate import tabulate  # noqa: PLC0415

    first = {one.kind: one.seconds / one.results for one in reversed(found)}
    rows = [
        [
            f"{one.results:,} {one.kind}",
            *(f"{part:.2f}" for part in (one.recall, one.answer, one.write, one.seconds, one.cpu)),
            f"{one.seconds / one.results * 1e6:.1f}",
            f"{one.seconds / one.results / first[one.kind]:.2f}",
            f"{one.megabytes:.0f}",
            f"{one.bytes / 1e6:.0f}",
            f"{met(one.seconds, SECONDS)}; {met(one.megabytes, MEGABYTES)}" if one.results == SIZES[-1] else "",
        ]
        for one in found
    ]
    headers = ["results", "recall s", "answer s", "write s", "all s", "CPU s", "us/result", "growth", "peak MB"]
    return tabulate(rows, headers=[*headers, "JSON MB", "bars: s; MB"], disable_numparse=True)


def main() -> None:
    """Measure, print the tables, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["all", "store", "junit"], default="all")
    parser.add_argument("--results", type=int, nargs="+", default=SIZES, metavar="N", help="other sizes")
    parser.add_argument("--kind", choices=["usual", "adverse"], help="of histories; default: both")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="measurements of each (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--passage", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.passage:
        results, kind, store = given.passage
        sys.stdout.write(json.dumps(asdict(passage(int(results), kind, Path(store)))))
        return
    figures: dict[str, Any] = {}
    if given.what in ("all", "store"):
        with tempfile.TemporaryDirectory(prefix="report-", ignore_cleanup_errors=True) as scratch:
            kinds = (given.kind,) if given.kind else ("usual", "adverse")
            found = [passages(n, kind, Path(scratch), given.repeat) for kind in kinds for n in given.results]
        figures["store"] = [asdict(one) for one in found]
        sys.stdout.write(f"{table(found)}\n\n")
    if given.what in ("all", "junit"):
        ours, bare, size = junit(given.repeat)
        speed = statistics.median(bare) / statistics.median(ours)
        figures["junit"] = {"ours": ours, "iterparse": bare, "bytes": size}
        rate, theirs = (size / 1e6 / statistics.median(one) for one in (ours, bare))
        sys.stdout.write(
            f"JUnit: {rate:.0f} MB/s, a bare iterparse {theirs:.0f} MB/s: "
            f"{speed:.2f} of its speed ({met(speed, RATIO, least=True)})\n\n"
        )
    host = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    sys.stdout.write(f"{host}, load {os.getloadavg()[0]:.1f}\n")
    if given.json:
        given.json.write_text(json.dumps({"host": host, **figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
