"""The places where the world comes in, and what is asked of several of them together."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING

from orchestrator.execute.devices import missing
from orchestrator.execute.port import Runtime
from orchestrator.execute.progress import Observer, Task, TaskKind
from orchestrator.matrix import Selection, select
from orchestrator.model import LockedCell, Matrix, Unresolvable
from orchestrator.pace import Pace
from orchestrator.resolve import Resolver
from orchestrator.results import Store
from orchestrator.wheels.cache import WheelCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.execute.port import Base, Plan, Step
    from orchestrator.model import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """The four places where the world comes in: indexes, runtime, store, and who watches."""

    matrix: Matrix
    resolver: Resolver
    runtime: Runtime
    wheels: WheelCache
    store: Store
    observer: Observer
    cancel: Event
    pace: Pace

    def bases(self, pythons: Iterable[str]) -> dict[str, Base]:
        """Find what lies below the cells of each Python."""
        return {python: self._base(python) for python in sorted(set(pythons))}

    def candidates(self, everything: Sequence[Cell]) -> tuple[Cell, ...]:
        """Return the cells that a run without any selection would measure on this host."""
        return tuple(cell for cell in select(self.matrix, everything, Selection()) if missing(cell.device) is None)

    def lock_candidates(
        self, everything: Sequence[Cell], answers: Iterable[LockedCell | Unresolvable] = ()
    ) -> tuple[LockedCell, ...]:
        """Resolve the candidates that have no answer yet; what cannot be resolved is left out."""
        known = {one.cell.id: one for one in answers}
        rest = [cell for cell in self.candidates(everything) if cell.id not in known]
        if rest and known:
            self.observer.phase(f"resolving {len(rest)} more cells, which may share layers with these")
        found = (*known.values(), *self.resolver.resolve(rest))
        return tuple(one for one in found if isinstance(one, LockedCell))

    def plan(self, locked: Sequence[LockedCell]) -> Plan:
        """Plan the environments of locked cells together.

        Planned over all candidates rather than over what is to be run: then cells that are chosen one by one meet
        the same layers.
        """
        bases = self.bases(one.cell.python for one in locked)
        return self.runtime.plan([(one.lock, bases[one.cell.python]) for one in locked])

    def took(self, step: Step, seconds: float) -> None:
        """Remember how long a step took to prepare."""
        self.pace.note(step.size, seconds)

    def _base(self, python: str) -> Base:
        """Find the base of a Python; the observer hears of it only where there is something to tell."""
        task = Task(kind=TaskKind.PREPARE, name=f"base of Python {python}")
        begun = False

        def say(line: str) -> None:
            nonlocal begun
            if not begun:
                self.observer.started(task)
                begun = True
            self.observer.said(task, line)

        base = self.runtime.base(self.matrix.bases[python], say)
        if begun:
            self.observer.finished(task, base.origin, good=True)
        return base
