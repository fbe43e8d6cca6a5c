"""What sharing layers saves: twelve real CPU cells of torch 2.1.2 to 2.6.0, against one Dockerfile per cell.

    python benchmarks/images.py [--builder auto|classic|buildkit] [-j 2] [--json FILE] [--keep]

Both ways run on the same engine, with the same builder, as many builds at once, on the same prepared base, and
with the same pins, which are locked before the clocks start:

- ours: `orchestrator build` with an empty wheel cache and no layer;
- naive: for every cell an image of its own, `uv pip install` of the cell's pins. Each is measured and dropped.

Stored bytes are what the engine counts for the images without the base; downloaded bytes are what came in on the
host's network interfaces. The physical limit is the unpacked size of the distinct wheels, read from the wheels.
Afterwards one torchao release is added to the warm matrix, and 2,000 locked cells are planned. Needs 40 GB of disk
and half an hour; removes what it made.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from orchestrator.certificates import ca_bundle
from orchestrator.config import load
from orchestrator.images import Bases, Builds, Certificates, Engine, Inventory
from orchestrator.images.builder import Build
from orchestrator.matrix import expand
from orchestrator.model import Limits, LockedCell
from orchestrator.planning import least_bytes, plan_steps, stored_bytes
from orchestrator.resolve import Resolver
from orchestrator.wheels.cache import WheelCache

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from many_locks import many_locks  # noqa: E402 - beside the tests

TORCHAO = {"0.7.0": "2.5.1", "0.8.0": "2.5.1", "0.9.0": "2.6.0", "0.10.0": "2.6.0"}
ADDED = {"0.11.0": "2.6.0"}

MATRIX = """\
version: 1
images: {{dockerfiles: {images}}}
probes: {probes}
bases: {{"3.11": {{image: "python:3.11-slim", debian: bookworm}}}}
limits: {{disk: 60GB}}
packages: {{torch: {{}}, torchao: {{}}, torch_xla: {{distribution: torch-xla}}}}
stacks:
  torch:
    device: cpu
    axes: {{torch: ["2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0"]}}
    requirements: [numpy]
  torchao:
    device: cpu
    axes: {{torchao: {torchao}}}
    companions: {{torch: {{follows: torchao, pairs: {pairs}}}}}
    requirements: [numpy]
  xla:
    device: xla
    axes: {{torch_xla: ["2.5.1", "2.6.0"]}}
    companions: {{torch: {{follows: torch_xla, same: minor}}}}
issues:
  any:
    title: Any issue that asks about all cells
    probes: ["test_torch_dot_half.py::test_dot_half_cpu"]
    subject: {{torch: torch, torchao: torchao, xla: torch_xla}}
"""

NAIVE = """\
ARG BASE
FROM ${BASE}
COPY context /tmp/build
RUN cd /tmp/build && if [ -f certificates.pem ]; then export SSL_CERT_FILE=/tmp/build/certificates.pem; fi \\
 && /opt/uv/uv --no-cache pip install --python /opt/venv/bin/python -r requirements.txt
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one way came to."""

    stored: int
    seconds: float
    downloaded: int


class Bench:
    """One project in a scratch directory, and the engine."""

    def __init__(self, directory: Path, builder: str, width: int) -> None:
        self.directory = directory
        self.width = width
        self.asked = builder
        self.store = directory / ".orchestrator"
        self.engine = Engine()
        self.inventory = Inventory(self.engine)
        self.builds = Builds(
            self.engine, builder=builder, certificates=Certificates(directory / "ca.txt"), logs=directory / "logs"
        )
        self.before = set(self.inventory.held())

    def write(self, torchao: dict[str, str]) -> Path:
        """Write the matrix with these torchao releases."""
        path = self.directory / "matrix.yaml"
        text = MATRIX.format(
            images=ROOT / "images",
            probes=ROOT / "probes",
            torchao=json.dumps(list(torchao)),
            pairs=json.dumps(torchao),
        )
        path.write_text(text, encoding="utf-8")
        return path

    def lock(self, path: Path) -> list[LockedCell]:
        """Lock all cells; the locks stay in the store."""
        matrix = load(path)
        answers = Resolver(matrix, self.store / "cache").resolve(expand(matrix, {}))
        lost = [one for one in answers if not isinstance(one, LockedCell)]
        if lost:
            sys.exit(f"cannot be locked here: {lost[0].cell.id}: {lost[0].reason}")
        return [one for one in answers if isinstance(one, LockedCell)]

    def prepare_base(self, path: Path) -> str:
        """Make the base that both ways stand on, before any clock starts; returns its name."""
        matrix = load(path)
        cache = self.store / "cache" / "docker"
        bases = Bases(self.engine, self.builds, cache=cache, dockerfiles=ROOT / "images")
        base = bases.find(matrix.bases["3.11"], lambda _line: None)
        bases.ensure(base, lambda _line: None, timeout=1800, cancel=threading.Event())
        return base.reference

    def build(self, *arguments: str) -> float:
        """Run `orchestrator build` as a user does; returns the seconds it took."""
        command = [sys.executable, "-m", "orchestrator", "build", "matrix.yaml", "--runtime", "docker"]
        command += ["--builder", self.asked, "-j", str(self.width), *arguments]
        start = time.monotonic()
        done = subprocess.run(
            command, cwd=self.directory, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, text=True
        )
        if done.returncode != 0:
            sys.exit(f"orchestrator build ended with exit status {done.returncode}")
        return time.monotonic() - start

    def ours(self) -> dict[str, int]:
        """Return the layers that this benchmark has made: key to the bytes each adds."""
        held = self.inventory.held()
        return {key: one.size for key, one in held.items() if key not in self.before and one.key != one.base}

    def naive(self, cells: list[LockedCell], base: str) -> Cost:
        """Build every cell by itself; each image is measured and dropped."""
        stored: list[int] = []
        busy: dict[int, float] = defaultdict(float)
        below = self.size(base)
        bundle = ca_bundle()

        def one(cell: LockedCell) -> None:
            pins = "".join(f"{d.name}=={d.version}\n" for d in cell.lock.distributions)
            tag = f"orchestrator-benchmark/naive:{cell.cell.id}"
            build = Build(
                tag=tag,
                key=f"naive-{cell.cell.id}",
                dockerfile=NAIVE,
                files={
                    "context/requirements.txt": pins.encode(),
                    **({"context/certificates.pem": bundle} if bundle else {}),
                },
                arguments={"BASE": base},
            )
            begun = time.monotonic()
            self.builds.run(build, lambda _line: None, timeout=3600, cancel=threading.Event())
            # Dropping the image is not the naive way's fault: a worker's time is that of its builds.
            busy[threading.get_ident()] += time.monotonic() - begun
            stored.append(self.size(tag) - below)
            print(
                f"naive {cell.cell.id}: {stored[-1] / 1e9:.2f} GB in {time.monotonic() - begun:.0f} s", flush=True
            )
            self.engine.api.remove_image(tag)

        received = network_bytes()
        with ThreadPoolExecutor(self.width) as pool:
            list(pool.map(one, cells))
        return Cost(stored=sum(stored), seconds=max(busy.values()), downloaded=network_bytes() - received)

    def size(self, name: str) -> int:
        """Return the bytes of an image with all it stands on."""
        found = self.engine.image(name)
        return int(found["Size"]) if found else 0

    def clean(self) -> None:
        """Remove the layers that were made here; the base stays."""
        for _ in range(20):
            for key in self.ours():
                self.inventory.discard(key)
            if not self.ours():
                return


def network_bytes() -> int:
    """Return the bytes that came in on the host's own interfaces, containers' and loopback left out."""
    total = 0
    for line in Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()[2:]:
        name, _, counters = line.partition(":")
        if (Path("/sys/class/net") / name.strip() / "device").exists():
            total += int(counters.split()[0])
    return total


def unpacked(cells: list[LockedCell], wheels: WheelCache) -> int:
    """Return the unpacked bytes of the distinct wheels."""
    total = 0
    for distribution in {d.wheel: d for one in cells for d in one.lock.distributions}.values():
        path = wheels.fetch(distribution, threading.Event())
        with zipfile.ZipFile(path) as wheel:
            total += sum(info.file_size for info in wheel.infolist())
    return total


def planning() -> dict[str, Any]:
    """Plan 2,000 locked cells."""
    locks = many_locks(2000)
    start = time.perf_counter()
    plan = plan_steps(locks, "FROM benchmark")
    seconds = time.perf_counter() - start
    return {
        "cells": len(locks),
        "seconds": seconds,
        "steps": len(plan.steps),
        "above_bound": stored_bytes(plan) / least_bytes(locks) - 1,
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builder", choices=["auto", "classic", "buildkit"], default="auto")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    parser.add_argument("--keep", action="store_true", help="keep the layers and the scratch directory")
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="orchestrator-images-"))
    bench = Bench(directory, given.builder, given.jobs)
    try:
        figures = run(bench)
    finally:
        if given.keep:
            print(f"kept: {directory}")
        else:
            bench.clean()
            shutil.rmtree(directory, ignore_errors=True)
        bench.engine.close()
    print(table(figures))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def run(bench: Bench) -> dict[str, Any]:
    """Measure everything; returns the figures."""
    path = bench.write(TORCHAO)
    cells = bench.lock(path)
    base = bench.prepare_base(path)
    wheels_of = {wheel for one in bench.inventory.held().values() for wheel in one.wheels}
    if warm := wheels_of & {d.wheel for one in cells for d in one.lock.distributions}:
        sys.exit(f"{len(warm)} of the wheels are in layers already: `orchestrator prune --all` first")
    received = network_bytes()
    seconds = bench.build()
    ours = Cost(stored=sum(bench.ours().values()), seconds=seconds, downloaded=network_bytes() - received)
    layers = set(bench.ours())
    wheels = WheelCache(bench.store / "cache" / "wheels", limit=Limits().wheels)
    cached, limit = wheels.size(), unpacked(cells, wheels)
    again = bench.build()
    bench.lock(bench.write(TORCHAO | ADDED))
    added = bench.build()
    added_layers = len(set(bench.ours()) - layers)
    naive = bench.naive(cells, base)
    return {
        "machine": f"{os.cpu_count()} CPUs, {platform.release()}, {bench.engine.api.info()['Driver']}",
        "builder": bench.builds.builder.name,
        "jobs": bench.width,
        "cells": len(cells),
        "layers": len(layers),
        "ours": {"stored": ours.stored, "seconds": ours.seconds, "downloaded": ours.downloaded},
        "naive": {"stored": naive.stored, "seconds": naive.seconds, "downloaded": naive.downloaded},
        "ratio": {
            "stored": ours.stored / naive.stored,
            "seconds": ours.seconds / naive.seconds,
            "downloaded": ours.downloaded / naive.downloaded,
            "stored_to_limit": ours.stored / limit,
        },
        "unpacked_distinct_wheels": limit,
        "wheel_cache": cached,
        "nothing_to_do_seconds": again,
        "one_torchao_added": {"seconds": added, "layers": added_layers},
        "planning": planning(),
    }


def table(figures: dict[str, Any]) -> str:
    """Write the figures for people."""
    ours, naive, ratio = figures["ours"], figures["naive"], figures["ratio"]
    plan, added = figures["planning"], figures["one_torchao_added"]
    limit = figures["unpacked_distinct_wheels"]
    seconds = [f"{way['seconds']:.0f} s" for way in (ours, naive)]
    rows = [
        ["stored", gigabytes(ours["stored"]), gigabytes(naive["stored"]), ratio["stored"], "0.40"],
        ["wall time", *seconds, ratio["seconds"], "0.45"],
        ["downloaded", gigabytes(ours["downloaded"]), gigabytes(naive["downloaded"]), ratio["downloaded"], "0.35"],
        [
            "stored, to unpacked wheels",
            gigabytes(ours["stored"]),
            gigabytes(limit),
            ratio["stored_to_limit"],
            "1.10",
        ],
    ]
    lines = [
        f"{figures['cells']} cells in {figures['layers']} layers: {figures['builder']}, {figures['jobs']} at once",
        figures["machine"],
        "",
        tabulate(rows, headers=["", "ours", "naive or limit", "ratio", "at most"], floatfmt=".2f"),
        "",
        f"wheel cache on the host: {gigabytes(figures['wheel_cache'])}",
        f"nothing to do: {figures['nothing_to_do_seconds']:.1f} s",
        f"one torchao release added: {added['layers']} layer, {added['seconds']:.1f} s (at most 8 s)",
        f"planning {plan['cells']} cells: {plan['seconds']:.2f} s (at most 2 s), {plan['steps']} layers",
        f"    their wheels are at most {plan['above_bound']:.1%} above the least possible",
    ]
    return "\n".join(lines)


def gigabytes(value: float) -> str:
    """Write bytes for people."""
    return f"{value / 1e9:.2f} GB"


if __name__ == "__main__":
    main()
