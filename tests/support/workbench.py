"""A workshop without the world: locks made up on the spot, a runtime in memory, a real store, and who listens."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from attempts import PASSED, Item, attempt, fails
from builders import axis, issue, matrix, stack
from orchestrator.execute import runner
from orchestrator.execute.port import Base, Held, Job, Plan, RawAttempt, Step, StepFailedError
from orchestrator.execute.progress import Silent
from orchestrator.knowledge import survey
from orchestrator.matrix import Selection, expand
from orchestrator.measure import Options, measure, plan_for
from orchestrator.model import Cell, Distribution, Lock, LockedCell, Matrix, Unresolvable
from orchestrator.pace import Pace
from orchestrator.results import Store
from orchestrator.versions import Version
from orchestrator.wheels.cache import WheelCache
from orchestrator.workshop import Workshop

if TYPE_CHECKING:
    from pathlib import Path

PROBES = "test_it.py"

Truth = Callable[[Version, int], bool]
"""Whether an issue shows at a version, in which run of its cell (the first is 0)."""


class Listener(Silent):
    """Remembers what it was told of the whole run."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def phase(self, text: str) -> None:
        self.phases.append(text)


class Locksmith:
    """Locks a cell to one wheel of each package that it names a version of; `refused` are cells, and why not."""

    def __init__(self, refused: Mapping[str, str] | None = None, *, transient: bool = False) -> None:
        self.refused = dict(refused or {})
        self.transient = transient
        self.asked: list[str] = []
        self.pages = None  # the axes are lists: no index is asked

    def resolve(self, cells: Sequence[Cell]) -> tuple[LockedCell | Unresolvable, ...]:
        self.asked += [cell.id for cell in cells]
        return tuple(
            Unresolvable(cell=cell, reason=self.refused[cell.id], transient=self.transient)
            if cell.id in self.refused
            else LockedCell(cell=cell, lock=lock(cell))
            for cell in cells
        )

    def resolve_one(self, cell: Cell) -> LockedCell | Unresolvable:
        (found,) = self.resolve([cell])
        return found


def lock(cell: Cell) -> Lock:
    wheels = (
        Distribution(
            name=name,
            version=version,
            url=f"https://example.org/{name}-{version}-py3-none-any.whl",
            sha256=hashlib.sha256(f"{name} {version}".encode()).hexdigest(),
            size=1000,
            index="default",
        )
        for name, version in sorted(cell.versions.items())
    )
    return Lock(python=cell.python, platform="linux", as_of=None, distributions=tuple(wheels))


class Memory:
    """A runtime in which environments are names, and every attempt ends at once, as a payload would end it.

    `truths` say of each issue where it shows; cells in `broken` cannot be built.
    """

    name = "memory"
    notices = ()

    def __init__(self, truths: Mapping[str, Truth]) -> None:
        self.truths = truths
        self.broken: dict[str, str] = {}
        self.there: dict[str, Held] = {}
        self.runs: list[str] = []
        """The cells of all attempts, in order."""
        self.ran: Callable[[str], None] = lambda _cell: None
        self._guard = threading.Lock()

    def base(self, image: object, say: object) -> Base:
        return Base(python="3.11", digest="base", reference="base", origin="memory")

    def contents(self, base: Base) -> Mapping[str, str] | None:
        return None

    def plan(self, locks: Sequence[tuple[Lock, Base]]) -> Plan:
        steps = {
            one.digest: Step(
                key=one.digest, parent=None, base=base, platform=one.platform, distributions=one.distributions
            )
            for one, base in locks
        }
        return Plan(steps=steps, environments={key: key for key in steps})

    def ready(self, step: Step) -> bool:
        return step.key in self.there

    def expect(self, steps: Sequence[Step]) -> None:
        pass

    def prepare(self, step: Step, limits: object, say: object, cancel: object) -> None:
        version = str(step.distributions[0].version)
        if version in self.broken:
            raise StepFailedError(self.broken[version], log="the last lines\nof a log")
        self.there[step.key] = Held(
            key=step.key,
            parent=None,
            base="base",
            platform=step.platform,
            wheels=step.wheels,
            size=0,
            used=datetime(2026, 1, 1, tzinfo=UTC),
        )

    def execute(self, job: Job, step: Step, say: object, cancel: object) -> RawAttempt:
        assert step.key in self.there, "the environment must be there"
        with self._guard:
            number = self.runs.count(job.cell)
            self.runs.append(job.cell)
        version = step.distributions[0].version
        items: dict[str, Item] = {
            nodeid: fails("RuntimeError: it shows")
            if self.truths[nodeid.partition("::test_")[2]](version, number)
            else PASSED
            for nodeid in job.nodeids
        }
        seen = [{"package": name, "version": str(version), "git_version": None} for name, _ in job.modules]
        self.ran(job.cell)
        return attempt(items, imports=seen, suite=job.attempt, session=job.attempt, duration=1.0)

    def held(self) -> Mapping[str, Held]:
        return dict(self.there)

    def discard(self, key: str) -> bool:
        return self.there.pop(key, None) is not None

    def export(self, base: Base, directory: Path, limits: object, cancel: object) -> None:
        raise NotImplementedError

    def finish(self, say: object, cancel: object) -> None:
        pass

    def close(self) -> None:
        pass

    def command(self, job: Job, step: Step) -> tuple[str, ...]:
        return ("run", job.cell, *job.nodeids)

    def shell(self, job: Job, step: Step, *, terminal: bool) -> tuple[str, ...]:
        return ("shell", job.cell)

    def again(self, job: Job, step: Step) -> str:
        return "again"

    def recipe(self, step: Step) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A workshop with the fakes that it is made of, and all cells of its matrix."""

    shop: Workshop
    cells: tuple[Cell, ...]
    runtime: Memory
    resolver: Locksmith
    listener: Listener

    def cell(self, version: str) -> str:
        """Return the id of the cell at a version of `lib`."""
        (found,) = (cell.id for cell in self.cells if str(cell.versions["lib"]) == version)
        return found


def project(directory: Path, versions: Sequence[str], truths: Mapping[str, Truth], **more: Any) -> Matrix:
    """Return a matrix of stack `s` along `lib`, with an issue and a probe for each of the truths."""
    probes = directory / "probes"
    probes.mkdir(parents=True, exist_ok=True)
    (probes / PROBES).write_text("".join(f"def test_{name}(): ...\n" for name in truths), encoding="utf-8")
    (directory / "matrix.yaml").write_text(f"# {', '.join(versions)}\n", encoding="utf-8")
    issues = tuple(issue(name, {"s": "lib"}, f"{PROBES}::test_{name}") for name in truths)
    return matrix(stack("s", axis("lib", *versions)), issues=issues, root=directory, **more)


def bench(
    directory: Path,
    versions: Sequence[str],
    truths: Mapping[str, Truth],
    *,
    refused: Mapping[str, str] | None = None,
) -> Bench:
    """Return a workshop whose results are kept in a directory; `refused` are versions that cannot be resolved."""
    made = project(directory, versions, truths)
    cells = expand(made)
    reasons = {cell.id: why for cell in cells if (why := (refused or {}).get(str(cell.versions["lib"])))}
    runtime, resolver, listener = Memory(truths), Locksmith(reasons), Listener()
    root = directory / "store"
    # Nothing is installed for a runtime that starts no process.
    (root / "cache" / "runner" / runner._install_digest("3.11")).mkdir(parents=True, exist_ok=True)
    resolving: Any = resolver
    shop = Workshop(
        matrix=made,
        resolver=resolving,
        runtime=runtime,
        wheels=WheelCache(root / "wheels", limit=0),
        store=Store(root),
        observer=listener,
        cancel=threading.Event(),
        pace=Pace(root / "pace.json", "memory"),
    )
    return Bench(shop=shop, cells=cells, runtime=runtime, resolver=resolver, listener=listener)


def never(_version, _number):
    return False


def since(minor):
    return lambda version, _number: version.minor >= minor


def made(tmp_path, truths, versions, **more):
    """Return a bench, and what is known of all its cells at first."""
    one = bench(tmp_path, versions, truths, **more)
    return one, survey(one.shop, Selection(), one.cells)


def ran(one, field, *versions):
    """Run cells once, outside of any search."""
    wanted = [(field.known[one.cell(version)], field.known[one.cell(version)].probes) for version in versions]
    measure(one.shop, Options(), wanted, plan_for(one.shop, field.known, one.cells))
