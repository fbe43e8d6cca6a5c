"""Locks by hand, and by the thousand as a matrix over years has them.

The thousands stand on few CUDA families, and have many torches and dependencies that drift.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from orchestrator.execute.port import Base, Held
from orchestrator.model import Distribution, Lock
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.execute.port import Step

KB, MB = 10**3, 10**6

PLATFORM = "manylinux_2_28_x86_64"
BASE = Base(python="3.11", digest="base-3.11", reference="base:3.11", origin="made up")

CUDA = {
    "nvidia-cublas": 410,
    "nvidia-cuda-cupti": 14,
    "nvidia-cuda-nvrtc": 24,
    "nvidia-cuda-runtime": 1,
    "nvidia-cudnn": 700,
    "nvidia-cufft": 121,
    "nvidia-cufile": 1,
    "nvidia-curand": 56,
    "nvidia-cusolver": 124,
    "nvidia-cusparse": 196,
    "nvidia-cusparselt": 150,
    "nvidia-nccl": 200,
    "nvidia-nvjitlink": 21,
}
"""The wheels below a torch with CUDA, and their megabytes."""

SMALL = {
    "filelock": 16,
    "fsspec": 180,
    "iniconfig": 6,
    "jinja2": 134,
    "markupsafe": 23,
    "mpmath": 536,
    "networkx": 2000,
    "numpy": 18000,
    "packaging": 66,
    "pluggy": 20,
    "pytest": 340,
    "setuptools": 1200,
    "sympy": 6200,
    "typing-extensions": 44,
}
"""What comes along with any torch and moves on its own, and its kilobytes."""

COMPANIONS = {"torchao": 3 * MB, "torch-xla": 95 * MB, "torchvision": 7 * MB, "transformers": 10 * MB}
"""What is put on top of torch, and its bytes."""


def wheel(name: str, size: int | None, version: str = "1.0", url: str = "https://index.example") -> Distribution:
    """Make up a wheel of so many bytes."""
    return Distribution(
        name=name,
        version=Version(version),
        url=f"{url}/{name}-{version}.whl",
        sha256=hashlib.sha256(f"{name}-{version}".encode()).hexdigest(),
        size=size,
        index="default",
    )


def locked(*wheels: Distribution, python: str = "3.11", platform: str = PLATFORM) -> Lock:
    """Make the lock that has just these wheels."""
    ordered = tuple(sorted(wheels, key=lambda found: found.name))
    return Lock(python=python, platform=platform, as_of=None, distributions=ordered)


def prepared(steps: Iterable[Step]) -> list[Held]:
    """Return what a runtime holds that has prepared these steps."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Held(
            key=step.key,
            parent=step.parent,
            base=step.base.digest,
            platform=step.platform,
            wheels=step.wheels,
            size=2 * step.size,
            used=moment,
        )
        for step in steps
    ]


def many_locks(count: int, *, torches: int = 60, seed: int = 0) -> list[tuple[Lock, Base]]:
    """Return `count` locks of 30 wheels, all distinct: torch releases with versions of what goes on top.

    Every lock is as of the day when its youngest part came out, so that small dependencies drift.
    """
    history = _History(seed, torches)
    partners = -(-count // torches)
    cells = ((torch, partner) for partner in range(partners) for torch in range(torches))
    return [(history.lock(torch, partner, partners), BASE) for torch, partner in islice(cells, count)]


@dataclass(frozen=True, slots=True)
class _Release:
    day: float
    wheel: Distribution


class _History:
    """Everything that was released in the thousand days of a made-up index."""

    def __init__(self, seed: int, torches: int) -> None:
        order = random.Random(seed)  # noqa: S311
        self._torches = [
            _release("torch", n, 1000 * n / torches, int(order.uniform(700, 900) * MB)) for n in range(torches)
        ]
        families = max(1, torches // 8)
        self._cuda = [
            [_release(name, n, 0, int(size * order.uniform(0.8, 1.2) * MB)) for name, size in CUDA.items()]
            for n in range(families)
        ]
        for older, newer in zip(self._cuda, self._cuda[1:], strict=False):
            kept = order.sample(range(len(CUDA)), 2)  # a new family takes some wheels over as they are
            for place in kept:
                newer[place] = older[place]
        self._triton = [
            _release("triton", n, 0, int(order.uniform(150, 210) * MB)) for n in range(torches // 2 + 1)
        ]
        self._small = {
            name: [
                _release(name, n, day, int(size * order.uniform(0.9, 1.1) * KB))
                for n, day in enumerate(
                    [0.0, *sorted(order.uniform(0, 1100) for _ in range(order.randint(4, 24)))]
                )
            ]
            for name, size in SMALL.items()
        }
        self._companion = order.sample(sorted(COMPANIONS), len(COMPANIONS))
        self._order = order

    def lock(self, torch: int, partner: int, partners: int) -> Lock:
        name = self._companion[partner % len(self._companion)]
        day = 1100 * (partner + 1) / (partners + 1)
        on_top = _release(name, partner, day, int(COMPANIONS[name] * (1 + 0.3 * partner / partners)))
        family = self._cuda[torch * len(self._cuda) // len(self._torches)]
        below = self._torches[torch]
        today = max(day, below.day)
        small = (next(r for r in reversed(found) if r.day <= today) for found in self._small.values())
        parts = (below, on_top, self._triton[torch // 2], *family, *small)
        return locked(*(part.wheel for part in parts))


def _release(name: str, number: int, day: float, size: int) -> _Release:
    return _Release(day, wheel(name, size, f"{number // 10 + 1}.{number % 10}.0"))
