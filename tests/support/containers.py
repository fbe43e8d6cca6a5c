"""What tests of the runtimes share: real runtimes with a payload that runs whatever the job says."""

from __future__ import annotations

import hashlib
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from packaging.utils import parse_wheel_filename

from orchestrator.execute.port import Job
from orchestrator.images.settings import BuilderName, ImageSettings
from orchestrator.model import BaseImage, Device, Distribution, Limits, Lock
from orchestrator.versions import Version
from orchestrator.wheels.cache import WheelCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.execute.port import Base, RawAttempt, Runtime, Step

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "images"
BASE = BaseImage(python="3.11", image="python:3.11-slim", debian="bookworm")
LABEL = "io.orchestrator.tool=matrix-orchestrator"

LAUNCH = """
import json, os, sys
with open(sys.argv[1]) as file:
    job = json.load(file)
out = sys.argv[2]
exec(job["nodeids"][0])
"""
"""A stand-in for the payload: the first node id is code, which finds the job as `job` and results go to `out`."""


class Brief(Job):
    """A job whose deadline is short."""

    @property
    def deadline(self) -> float:
        return 4.0


def payload(directory: Path) -> Path:
    """Make a directory with the stand-in."""
    directory.mkdir(exist_ok=True)
    (directory / "launch.py").write_text(LAUNCH, encoding="utf-8")
    return directory


def distribution(wheel: Path, *, url: str | None = None, sha256: str | None = None) -> Distribution:
    """Return the locked form of a wheel that lies on this host."""
    name, version, _, _ = parse_wheel_filename(wheel.name)
    return Distribution(
        name=name,
        version=Version(str(version)),
        url=url or wheel.as_uri(),
        sha256=sha256 or hashlib.sha256(wheel.read_bytes()).hexdigest(),
        size=wheel.stat().st_size,
        index="default",
    )


def lock(*distributions: Distribution) -> Lock:
    ordered = tuple(sorted(distributions, key=lambda d: d.name))
    return Lock(python="3.11", platform="linux", as_of=None, distributions=ordered)


def settings(builder: BuilderName, dockerfiles: Path = IMAGES, registry: str | None = None) -> ImageSettings:
    """Return how images are made in a test."""
    return ImageSettings(dockerfiles=dockerfiles, builder=builder, registry=registry)


def wheels(directory: Path, limit: int = 10**9) -> WheelCache:
    """Return a wheel cache below a directory."""
    return WheelCache(directory / "wheels", limit=limit, bundle=directory / "bundle" / "wheels")


def quiet(_line: str) -> None:
    """Take progress lines and drop them."""


def prepared(runtime: Runtime, base: Base, locked: Lock, limits: Limits | None = None) -> Step:
    """Prepare all steps of one lock and return the last."""
    chain = runtime.plan([(locked, base)]).chain(locked.digest)
    for step in chain:
        runtime.prepare(step, limits or Limits(), quiet, Event())
    return chain[-1]


class Bench:
    """A runtime with one prepared environment, on which code is run."""

    def __init__(self, runtime: Runtime, step: Step, locked: Lock, directory: Path) -> None:
        self.runtime, self.step, self.lock, self.directory = runtime, step, locked, directory
        self._count = 0

    def job(self, code: str, *, kind: type[Job] = Job, **changes: object) -> Job:
        self._count += 1
        directory = self.directory / str(self._count)
        directory.mkdir(parents=True)
        probes = self.directory / "probes"
        probes.mkdir(exist_ok=True)
        values = {
            "attempt": f"test-{self.directory.name.lower()}-{self._count}",
            "cell": "cell",
            "lock": self.lock,
            "device": Device.CPU,
            "probes": probes,
            "runner": probes,
            "nodeids": (code,),
            "modules": (("thing", "thing"),),
            "environment": {},
            "limits": Limits(memory=512 * 1024**2, shm=64 * 1024**2, pids=64),
            "directory": directory,
        }
        return kind(**(values | changes))

    def run(
        self,
        code: str,
        *,
        cancel: Event | None = None,
        say: Callable[[str], None] = quiet,
        **changes: object,
    ) -> RawAttempt:
        self.last = self.job(code, **changes)
        return self.runtime.execute(self.last, self.step, say, cancel or Event())
