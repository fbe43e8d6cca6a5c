#!/usr/bin/env python3
"""What the orchestrator costs besides the probes: beside a shell loop, and when everything is known already.

`containers`: cells of a tiny package on warm images, run by `orchestrator run` and by a shell loop over the very
same `docker run` command lines, one after the other, several times. `cached`: a run that executes nothing.

Both work on wheels that are made on the spot and clean up what they made (docs/benchmarks.md).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from tabulate import tabulate  # noqa: E402

from attempts import PASSED, attempt, fails  # noqa: E402
from orchestrator.cli.workshop import open_workshop  # noqa: E402
from orchestrator.config import load  # noqa: E402
from orchestrator.execute.progress import Silent  # noqa: E402
from orchestrator.measure import Options  # noqa: E402
from orchestrator.pipeline import run  # noqa: E402
from wheelhouse import Wheelhouse  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from threading import Event

    from orchestrator.execute.port import Job, RawAttempt, Runtime, Step

WIDTH = 2
BARS = {"ratio": 1.10, "seconds": 1.0, "megabytes": 150.0}

CONTAINER_CELLS = 40
CACHED_VERSIONS, CACHED_COMPANIONS, CACHED_PROBES, CACHED_DISTRIBUTIONS = 50, 20, 10, 12
"""1,000 cells of two axes, 10 probes, and as many distributions in each lock as a CPU build of torch pulls in."""

MATRIX = """\
version: 1
probes: probes
images: {{dockerfiles: "{images}"}}
indexes: {{house: "{index}"}}
bases: {{"{python}": {{image: "python:{python}-slim", debian: bookworm}}}}
limits: {{probe-timeout: 30s, memory: 512MB, shm: 64MB}}
packages:
{packages}
stacks:
  tiny: {{device: cpu, axes: {{{axes}}}}}
issues:
{issues}
"""

# Small, and started anew for each measurement: a process that forks hands its own peak down to its child.
LAUNCHER = """\
import json, resource, subprocess, sys, time
start = time.monotonic()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
seconds = time.monotonic() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024,
                  "status": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode()}))
"""

# One cell of the shell loop: what the orchestrator does with a container, by the command line client.
LOOP_CELL = """\
#!/bin/sh
# usage: cell.sh NAME; the options and the command of the container are in NAME.args, one to a line
set -f; IFS='
'
docker run --name "loop-$1" $(cat "$1.args") >"$1.log" 2>&1
docker cp -q "loop-$1:/out" "$1.out" >/dev/null
docker rm -v "loop-$1" >/dev/null
"""
BARE_CELL = """\
#!/bin/sh
set -f; IFS='
'
docker run --rm $(cat "$1.args") >"$1.log" 2>&1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table; `bar` is what the value must not exceed, None where it is there to be compared."""

    what: str
    value: float
    unit: str
    spread: tuple[float, float]
    bar: float | None = None


class Canned:
    """A runtime on which every environment is there and every attempt ends at once, as a payload would end it."""

    def __init__(self, real: Runtime) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the rest of the port
        return getattr(self._real, name)

    def ready(self, step: Step) -> bool:
        """Tell that it is there."""
        return step is not None

    def execute(self, job: Job, step: Step, say: object, cancel: Event) -> RawAttempt:
        """Fail the first so many probes, the more the newer the release."""
        del step, say, cancel
        release = int(str(job.lock.version("tinylib")).partition(".")[2])
        items = {
            nodeid: fails(f"AssertionError: {nodeid}: shapes (53, 2048) and (16, 2048) differ\n{'detail ' * 30}")
            if number * 5 < release
            else PASSED
            for number, nodeid in enumerate(job.nodeids)
        }
        seen = [
            {"package": name, "version": str(job.lock.version(name)), "git_version": f"{release:040x}"}
            for name, _ in job.modules
        ]
        pins = [(d.name, str(d.version), str(d.version)) for d in job.lock.distributions]
        return attempt(items, imports=seen, pins=pins, suite=job.attempt, session=job.attempt, duration=1.0)


def write_project(directory: Path, *, versions: int, companions: int, probes: int, distributions: int) -> None:
    """Write a matrix with its probes and its wheels, which are resolved from an index in the directory."""
    house = Wheelhouse(directory / "house")
    others = [f"dep{number}" for number in range(distributions - 1 - bool(companions))]
    for name in others:
        house.add(name, "1.0", uploaded="2023-06-01T00:00:00Z")
    for number in range(versions):
        house.add("tinylib", f"1.{number}", requires=tuple(others), uploaded="2024-01-01T00:00:00Z")
    for number in range(companions):
        house.add("tinydep", f"1.{number}", uploaded="2024-01-01T00:00:00Z")
    tested = ["tinylib", *(["tinydep"] if companions else [])]
    (directory / "probes").mkdir()
    code = "".join(f"def test_{number}():\n    import tinylib\n\n\n" for number in range(probes))
    (directory / "probes" / "test_tiny.py").write_text(code, encoding="utf-8")
    text = MATRIX.format(
        images=ROOT / "images",
        index=house.url,
        python="3.11",
        packages="\n".join(f"  {name}: {{indexes: {{cpu: [house]}}}}" for name in [*tested, *others]),
        axes=", ".join(f'{name}: ">=1.0"' for name in tested),
        issues="\n".join(
            f'  issue-{number}: {{title: "Issue {number}", subject: {{tiny: tinylib}}, '
            f'probes: ["test_tiny.py::test_{number}"]}}'
            for number in range(probes)
        ),
    )
    (directory / "matrix.yaml").write_text(text, encoding="utf-8")


def orchestrator(*arguments: str) -> list[str]:
    """Return the command that a user would type."""
    script = shutil.which("orchestrator", path=Path(sys.executable).parent)
    return [*([script] if script else [sys.executable, "-m", "orchestrator"]), *arguments]


def launch(command: Sequence[str], cwd: Path) -> dict[str, Any]:
    """Run a command from a small process; returns wall seconds, CPU seconds, peak megabytes and what it said."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LAUNCHER, *command], cwd=cwd, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def figure(what: str, values: Sequence[float], unit: str, bar: float | None = None) -> Figure:
    """Return the median of repeated measurements with the least and the greatest."""
    return Figure(
        what=what, value=statistics.median(values), unit=unit, spread=(min(values), max(values)), bar=bar
    )


def cached(directory: Path, runtime: str, repeat: int) -> list[Figure]:
    """Fill a store through the product itself, on a canned runtime, then run the real command on it."""
    write_project(
        directory,
        versions=CACHED_VERSIONS,
        companions=CACHED_COMPANIONS,
        probes=CACHED_PROBES,
        distributions=CACHED_DISTRIBUTIONS,
    )
    say(f"resolving and recording {CACHED_VERSIONS * CACHED_COMPANIONS} cells (a minute or two)")
    matrix, root = load(directory / "matrix.yaml"), directory / "store"
    given = {"store": root, "runtime": runtime, "builder": "auto"}
    with open_workshop(given, matrix, Silent()) as shop:
        canned: Any = Canned(shop.runtime)
        run(replace(shop, runtime=canned), Options(width=WIDTH))
    command = orchestrator("run", "--runtime", runtime, "--store", str(root))
    seconds, cpu, megabytes = [], [], []
    for _ in range(repeat):
        done = launch(command, directory)
        if "every result is known already" not in done["err"] or done["status"] not in (0, 1):
            raise SystemExit(f"the cached run did something else:\n{done['err']}")
        seconds.append(done["seconds"])
        cpu.append(done["cpu"])
        megabytes.append(done["megabytes"])
    cells = CACHED_VERSIONS * CACHED_COMPANIONS
    what = f"cached run, {cells} cells x {CACHED_PROBES} probes ({runtime})"
    return [
        figure(what, seconds, "s", BARS["seconds"]),
        figure(f"{what}: CPU", cpu, "s"),
        figure(f"{what}: peak memory", megabytes, "MB", BARS["megabytes"]),
    ]


def containers(directory: Path, repeat: int, *, keep: bool) -> list[Figure]:
    """Run the same containers by the orchestrator and by shell loops, alternating."""
    write_project(directory, versions=CONTAINER_CELLS, companions=0, probes=1, distributions=1)
    store = directory / "store"
    again = orchestrator(
        "run", "--runtime", "docker", "--store", str(store), "--jobs", str(WIDTH), "--rerun", "all"
    )
    with _images_of_ours(keep=keep):
        say(f"building {CONTAINER_CELLS} images (some minutes)")
        _checked(launch(again, directory))
        say("asking for the command lines")
        names = _write_loop(directory, store)
        took: dict[str, list[dict[str, Any]]] = {"orchestrator": [], "loop": [], "bare": []}
        for number in range(repeat):
            say(f"round {number + 1} of {repeat}, load {os.getloadavg()[0]:.1f}")
            # Another order in each round: whoever comes second finds the caches warmer.
            for one in [*took, *took][number % 3 : number % 3 + 3]:
                took[one].append(
                    _checked(launch(again, directory)) if one == "orchestrator" else _loop(directory, names, one)
                )
    seconds = {one: [done["seconds"] for done in runs] for one, runs in took.items()}
    cpu = {one: [done["cpu"] for done in runs] for one, runs in took.items()}
    return [
        figure(f"{CONTAINER_CELLS} warm cells, -j {WIDTH}: orchestrator run", seconds["orchestrator"], "s"),
        figure("... shell loop: run, take the results out, remove", seconds["loop"], "s"),
        figure("... shell loop: docker run --rm, results lost", seconds["bare"], "s"),
        ratio("... orchestrator / shell loop", seconds["orchestrator"], seconds["loop"], BARS["ratio"]),
        ratio("... orchestrator / shell loop, results lost", seconds["orchestrator"], seconds["bare"]),
        figure("... CPU of orchestrator run, without the engine's", cpu["orchestrator"], "s"),
        figure("... CPU of the shell loop, without the engine's", cpu["loop"], "s"),
    ]


def ratio(what: str, ours: Sequence[float], theirs: Sequence[float], bar: float | None = None) -> Figure:
    """Return the ratio of the medians, with the least and the greatest ratio of one round."""
    rounds = [a / b for a, b in zip(ours, theirs, strict=True)]
    return Figure(
        what=what,
        value=statistics.median(ours) / statistics.median(theirs),
        unit="x",
        spread=(min(rounds), max(rounds)),
        bar=bar,
    )


def _write_loop(directory: Path, store: Path) -> list[str]:
    """Write the arguments of every container, as `orchestrator explain` prints its command, and the scripts."""
    loop = directory / "loop"
    loop.mkdir()
    names = []
    for number in range(CONTAINER_CELLS):
        cell = f"tiny-py3.11-tinylib1.{number}"
        explain = orchestrator("explain", cell, "--runtime", "docker", "--store", str(store))
        command = shlex.split(_checked(launch(explain, directory))["out"].splitlines()[-1])
        if command[:3] != ["docker", "run", "--rm"]:
            raise SystemExit(f"no docker run: {shlex.join(command)}")
        (loop / f"{cell}.args").write_text("\n".join(command[3:]), encoding="utf-8")
        names.append(cell)
    (loop / "loop.sh").write_text(LOOP_CELL, encoding="utf-8")
    (loop / "bare.sh").write_text(BARE_CELL, encoding="utf-8")
    return names


def _loop(directory: Path, names: Sequence[str], script: str) -> dict[str, Any]:
    """Run a shell loop once and look whether it did its work."""
    loop = directory / "loop"
    for out in loop.glob("*.out"):
        shutil.rmtree(out)
    (loop / "names").write_text("\n".join(names) + "\n", encoding="utf-8")
    line = f"xargs -P {WIDTH} -n 1 sh {script}.sh < names"
    done = launch(["bash", "-c", line], loop)
    logs = [(loop / f"{name}.log").read_text(encoding="utf-8", errors="replace") for name in names]
    reports = len(list(loop.glob("*.out/junit.xml")))
    if done["status"] or not all("1 passed" in log for log in logs) or reports != len(names) * (script == "loop"):
        raise SystemExit(f"the shell loop did not do its work:\n{done['err']}\n{logs[0]}")
    return done


@contextmanager
def _images_of_ours(*, keep: bool) -> Iterator[None]:
    """Remove the images that were not there before, unless they are to be kept; the base below them stays."""
    before = _layers()
    try:
        yield
    finally:
        new = sorted(_layers() - before)
        if new and not keep:
            say(f"removing {len(new)} images")
            subprocess.run(["docker", "image", "rm", *new], capture_output=True, check=False)  # noqa: S607


def _layers() -> set[str]:
    command = ["docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "orchestrator/layer"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def _checked(done: dict[str, Any]) -> dict[str, Any]:
    if done["status"] != 0:
        raise SystemExit(f"the command failed with status {done['status']}:\n{done['err']}")
    return done


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a table for people."""
    rows = [
        [
            one.what,
            f"{one.value:.2f} {one.unit}",
            f"{one.spread[0]:.2f} to {one.spread[1]:.2f}",
            "" if one.bar is None else f"<= {one.bar:g}: {'met' if one.value <= one.bar else 'NOT MET'}",
        ]
        for one in figures
    ]
    return tabulate(rows, headers=["what", "median", "spread", "bar"], disable_numparse=True)


def say(line: str) -> None:
    """Tell whoever waits what is going on."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")


def main() -> None:
    """Measure, print the table, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["all", "cached", "containers"], default="all")
    parser.add_argument("--runtime", choices=["docker", "venv"], default="docker", help="of the cached run")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="measurements of each kind (default 5)")
    parser.add_argument("--directory", type=Path, help="work here and leave all there (default: temporary)")
    parser.add_argument("--keep", action="store_true", help="keep the images that were built")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file, too")
    given = parser.parse_args()
    figures: list[Figure] = []
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="overhead-", ignore_cleanup_errors=True) as scratch:
        # The container's user looks into it.
        Path(scratch).chmod(0o755)
        directory = given.directory.absolute() if given.directory else Path(scratch)
        for name in ("cached", "containers"):
            if given.what not in (name, "all"):
                continue
            (directory / name).mkdir(parents=True)
            if name == "cached":
                figures += cached(directory / name, given.runtime, given.repeat)
            else:
                figures += containers(directory / name, given.repeat, keep=given.keep)
    host = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    sys.stdout.write(f"{table(figures)}\n\n{host}, load {load_before:.1f} before\n")
    if given.json:
        document = {"host": host, "load": load_before, "figures": [asdict(one) for one in figures]}
        given.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
