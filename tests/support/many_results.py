"""A store with up to a million results, as years of five stacks would leave it, and the workshop that reads it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from threading import Event
from typing import TYPE_CHECKING, Any

from builders import issue, matrix, stack
from many_locks import SMALL, locked, wheel
from orchestrator.execute.port import Base
from orchestrator.execute.progress import Silent
from orchestrator.execute.runner import runner_digest
from orchestrator.matrix import expand
from orchestrator.model import (
    Attempt,
    Axis,
    BaseImage,
    Fingerprint,
    Import,
    LockedCell,
    Origin,
    Outcome,
    Package,
    ProbeResult,
)
from orchestrator.results import ReuseKeys, Store
from orchestrator.versions import Version
from orchestrator.workshop import Workshop

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from orchestrator.model import Cell, Distribution, Lock, Matrix

PROBES = 100
SHAPES = {10_000: (1, 25, 4, 1), 100_000: (1, 25, 20, 2), 1_000_000: (5, 25, 20, 4)}
"""By the number of results: stacks, versions of torch and of torchao, Pythons."""

STARTED = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
BASE = "sha256:ba5e"
TRACE = "\n".join(f"probes/test_{{0}}.py:{line}: in step {line}" for line in (12, 47, 63))


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """How one issue fares along its axis: where it turns bad or good, and whether a later partner moves that."""

    turns: tuple[int, ...]
    bad_first: bool
    absent: int
    """Versions at the start that lack the API."""
    coupled: bool

    def bad(self, at: int, beside: int) -> bool:
        """Tell the state at a version, beside a version of the other axis."""
        moved = at - beside // 4 if self.coupled else at
        return self.bad_first ^ (sum(turn <= moved for turn in self.turns) % 2 == 1)


class _Indexes:
    """Answers for the resolver: every cell is locked already."""

    def __init__(self, locks: Mapping[str, Lock]) -> None:
        self._locks = locks

    def resolve(self, cells: Sequence[Cell]) -> tuple[LockedCell, ...]:
        return tuple(LockedCell(cell=cell, lock=self._locks[cell.id]) for cell in cells)


class _Runtime:
    name = "docker"
    notices = ()

    def base(self, image: object, say: object) -> Base:
        return Base(python=getattr(image, "python", ""), digest=BASE, reference="", origin="there")


def workshop(results: int, root: Path) -> tuple[Workshop, tuple[Cell, ...]]:
    """Return a workshop on a store, whose cells are locked, and its cells."""
    made = _matrix(results, root)
    cells = expand(made, {})
    runtime: Any = _Runtime()
    resolver: Any = _Indexes({cell.id: lock for cell, lock in zip(cells, _locks(cells), strict=True)})
    nothing: Any = None
    shop = Workshop(
        matrix=made,
        resolver=resolver,
        runtime=runtime,
        wheels=nothing,
        store=Store(root),
        observer=Silent(),
        cancel=Event(),
        pace=nothing,
    )
    return shop, cells


def fill(results: int, root: Path, *, adverse: bool, seed: int = 0) -> None:
    """Record an attempt of every probe in every cell; with `adverse`, every series has a history of its own."""
    _write_project(results, root)
    shop, cells = workshop(results, root)
    keys = ReuseKeys(shop.matrix, runner=runner_digest)
    order = random.Random(seed)  # noqa: S311
    histories: dict[object, History] = {}
    for locked_cell in shop.resolve(cells):
        cell, lock = locked_cell.cell, locked_cell.lock
        found = []
        for number, one in enumerate(shop.matrix.issues.values()):
            axis = one.subjects[cell.stack]
            at, beside = (_place(cell, name) for name in (axis, "torchao" if axis == "torch" else "torch"))
            line = (cell.python, beside) if adverse else ()
            length = len(_axis(shop.matrix, cell.stack, axis))
            history = histories.get(key := (one.id, cell.stack, *line))
            if history is None:
                history = histories[key] = _history(order, length, adverse=adverse)
            found.append(_result(order, one.probes[0], number, history, (at, beside)))
        environment = keys.environment(lock, BASE)
        probes = keys.probes(cell, [result.probe for result in found])
        shop.store.record(environment, probes, _attempt(cell, order, found))


def _matrix(results: int, root: Path) -> Matrix:
    stacks, torches, torchaos, pythons = SHAPES[results]
    axes = {
        "torch": tuple(Version(f"2.{n // 2}.{n % 2}") for n in range(torches)),
        "torchao": tuple(Version(f"0.{n + 1}.0") for n in range(torchaos)),
    }
    names = [f"torch-cpu-{number}" for number in range(stacks)]
    python = tuple(f"3.{minor}" for minor in range(10, 10 + pythons))
    built = matrix(
        *(stack(name, *(Axis(package=p, versions=v) for p, v in axes.items()), python=python) for name in names),
        issues=tuple(
            issue(
                f"issue-{number:02}",
                dict.fromkeys(names, "torch" if number % 2 else "torchao"),
                f"test_{number % 10}.py::test_{number}",
            )
            for number in range(PROBES)
        ),
        root=root.with_suffix(".project"),
        bases={one: BaseImage(python=one, image=f"python:{one}-slim", debian=None) for one in python},
    )
    repository = "https://github.com/example"
    packages = {
        name: Package(name=name, distribution=name, module=name, repository=f"{repository}/{name}")
        for name in axes
    }
    return type(built)(**{name: getattr(built, name) for name in built.__slots__} | {"packages": packages})


def _write_project(results: int, root: Path) -> None:
    made = _matrix(results, root)
    made.probes.mkdir(parents=True)
    for number in range(10):
        (made.probes / f"test_{number}.py").write_text(f"# {number}\n", encoding="utf-8")
    made.path.write_text("version: 1\n", encoding="utf-8")
    runner_digest("3.11")


def _locks(cells: Iterable[Cell]) -> list[Lock]:
    """Lock every cell to a dozen wheels, of which some drift with the release of torch."""

    @cache
    def of(name: str, version: str) -> Distribution:
        return wheel(name, 1, version)

    found = []
    for cell in cells:
        release = cell.versions["torch"].minor
        small = {name: f"1.{release // (number + 2)}" for number, name in enumerate(SMALL)}
        pins = {**small, **{name: str(version) for name, version in cell.versions.items()}}
        # What a stack resolves from is another index each: no two stacks share an environment.
        pins["six"] = f"1.{sum(map(ord, cell.stack))}"
        found.append(locked(*(of(name, version) for name, version in pins.items()), python=cell.python))
    return found


def _axis(made: Matrix, name: str, axis: str) -> tuple[Version, ...]:
    (versions,) = (one.versions for one in made.stacks[name].axes if one.package == axis)
    return versions  # type: ignore[return-value] # no range here


def _place(cell: Cell, axis: str) -> int:
    version = cell.versions[axis]
    return version.minor - 1 if axis == "torchao" else 2 * version.minor + version.micro


def _history(order: random.Random, length: int, *, adverse: bool) -> History:
    changes = order.choices((0, 1, 2, 3), (30, 40, 20, 10))[0]
    return History(
        turns=tuple(sorted(order.sample(range(1, length), min(changes, length - 1)))),
        bad_first=order.random() < 0.4,
        absent=order.choice((0, 0, 0, 1, 3)),
        coupled=not adverse and order.random() < 0.1,
    )


def _result(
    order: random.Random, probe: str, number: int, history: History, place: tuple[int, int]
) -> ProbeResult:
    seconds = round(order.lognormvariate(-1.0, 1.0), 6)
    measures = {"mae": 10 ** order.uniform(-7, 1), "ratio": order.uniform(0.5, 2)} if number % 10 == 0 else {}
    if place[0] < history.absent:
        what, why = Outcome.ABSENT, f"AttributeError: module 'torch' has no attribute 'api_{number}'"
    elif order.random() < 0.02:
        what, why = Outcome.ERROR, f"fixture of test_{number}: ConnectionError: no answer"
    elif not history.bad(*place):
        return ProbeResult(probe=probe, outcome=Outcome.PASS, duration=seconds, metrics=measures)
    else:
        shown = order.choices((Outcome.FAIL, Outcome.CRASH, Outcome.TIMEOUT), (92, 6, 2))[0]
        later = "of another kind " if place[0] > 12 else ""
        said = {
            Outcome.FAIL: f"RuntimeError: mat1 and mat2 shapes {later}cannot be multiplied ({number}x20 and 16x8)",
            Outcome.CRASH: "SIGSEGV",
            Outcome.TIMEOUT: "no end within 120 s",
        }
        what, why = shown, said[shown]
    message = f"{TRACE.format(number % 10)}\n{why}\n  at 0x{order.getrandbits(48):012x} of thread {order.random()}"
    return ProbeResult(
        probe=probe, outcome=what, signature=why, message=message, duration=seconds, metrics=measures
    )


def _attempt(cell: Cell, order: random.Random, results: Sequence[ProbeResult]) -> Attempt:
    return Attempt(
        cell=cell.id,
        origin=Origin(
            attempt=f"{cell.id}-{order.getrandbits(32):08x}",
            runtime="docker",
            base=BASE,
            started=STARTED + timedelta(seconds=order.randrange(10**6)),
            duration=60.5,
            fingerprint=Fingerprint(device="Intel(R) Xeon(R)", driver=None, system="Linux 6.1.0 x86_64"),
        ),
        imports=tuple(
            Import(package=name, version=str(version), git_version=f"{_place(cell, name):040x}")
            for name, version in cell.versions.items()
        ),
        results=tuple(results),
        exit_code=1,
    )
