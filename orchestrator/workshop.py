"""The places where the world comes in, and what is asked of several of them together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Event
from typing import TYPE_CHECKING

from orchestrator.devices import Pool
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.port import Runtime
from orchestrator.execute.progress import Observer, Task, TaskKind
from orchestrator.matrix import Selection, select
from orchestrator.model import LockedCell, Matrix, Unresolvable
from orchestrator.pace import Pace
from orchestrator.resolve import Resolver, lock_prebuilt, platform_tag
from orchestrator.results import Store
from orchestrator.wheels.cache import WheelCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.execute.port import Base, Plan, Step
    from orchestrator.model import BaseImage, Cell


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
    devices: Pool = field(default_factory=Pool)

    def bases(self, cells: Iterable[Cell]) -> dict[str, Base]:
        """Find what lies below each cell, by its id; what lies below several is looked for once."""
        images = {cell.id: self.matrix.base(cell) for cell in cells}
        distinct = {image.key: image for image in images.values()}
        found = {key: self._base(image) for key, image in sorted(distinct.items())}
        return {cell: found[image.key] for cell, image in images.items()}

    def resolve(self, cells: Sequence[Cell]) -> tuple[LockedCell | Unresolvable, ...]:
        """Lock cells, in the order given: against the indexes, or by the prebuilt image that a cell has.

        Where a base that only some stacks need cannot be had, their cells cannot be run, and all others can.
        """
        absent: dict[str, str] = {}
        for image in {image.key: image for cell in cells if (image := self._own(cell)) is not None}.values():
            try:
                self._base(image)
            except EnvironmentUnusableError as error:
                absent[image.key] = str(error)
        without = {cell.id: absent.get(image.key) for cell in cells if (image := self._own(cell)) is not None}
        rest = [cell for cell in cells if without.get(cell.id) is None and cell.prebuilt is None]
        answers = {one.cell.id: self._placed(one) for one in (self.resolver.resolve(rest) if rest else ())}
        for cell in cells:
            if (reason := without.get(cell.id)) is not None:
                answers[cell.id] = Unresolvable(cell=cell, reason=reason, transient=True)
            elif cell.prebuilt is not None:
                answers[cell.id] = self.lock_prebuilt(cell)
        return tuple(answers[cell.id] for cell in cells)

    def lock_prebuilt(self, cell: Cell) -> LockedCell | Unresolvable:
        """Lock a cell by its prebuilt image, with what is known to be in there; the image need not be here.

        Raises:
            EnvironmentUnusableError: nobody here knows that image.
        """
        base = self._base(self.matrix.base(cell))
        return lock_prebuilt(self.matrix, cell, base.digest, self.runtime.contents(base), platform=platform_tag())

    def candidates(self, everything: Sequence[Cell]) -> tuple[Cell, ...]:
        """Return the cells that a run without any selection would measure on this host."""
        chosen = select(self.matrix, everything, Selection())
        absent = {device: self.devices.missing(device) for device in {cell.device for cell in chosen}}
        return tuple(cell for cell in chosen if absent[cell.device] is None)

    def lock_candidates(
        self, everything: Sequence[Cell], answers: Iterable[LockedCell | Unresolvable] = ()
    ) -> tuple[LockedCell, ...]:
        """Resolve the candidates that have no answer yet; what cannot be resolved is left out."""
        known = {one.cell.id: one for one in answers}
        # What stands on a prebuilt image shares nothing: no other cell depends on how it is planned.
        rest = [one for one in self.candidates(everything) if one.id not in known and one.prebuilt is None]
        if rest and known:
            self.observer.phase(f"resolving {len(rest)} more cells, which may share layers with these")
        found = (*known.values(), *self.resolve(rest))
        return tuple(one for one in found if isinstance(one, LockedCell))

    def plan(self, locked: Sequence[LockedCell]) -> Plan:
        """Plan the environments of locked cells together.

        Planned over all candidates rather than over what is to be run: then cells that are chosen one by one meet
        the same layers.
        """
        bases = self.bases(one.cell for one in locked)
        return self.runtime.plan([(one.lock, bases[one.cell.id]) for one in locked])

    def took(self, step: Step, seconds: float) -> None:
        """Remember how long a step took to prepare."""
        self.pace.note(step.size, seconds)

    def _own(self, cell: Cell) -> BaseImage | None:
        """Return what lies below a cell where that is not the base of its Python."""
        image = self.matrix.base(cell)
        return image if image.prebuilt or self.matrix.stacks[cell.stack].base is not None else None

    def _placed(self, one: LockedCell | Unresolvable) -> LockedCell | Unresolvable:
        """Note in a lock which base the matrix names for it: on another, the same wheels are something else."""
        base = self.matrix.stacks[one.cell.stack].base
        if base is None or isinstance(one, Unresolvable):
            return one
        return replace(one, lock=replace(one.lock, base=base))

    def _base(self, image: BaseImage) -> Base:
        """Find a base; the observer hears of it only where there is something to tell."""
        task = Task(kind=TaskKind.PREPARE, name=image.title)
        begun = False

        def say(line: str) -> None:
            nonlocal begun
            if not begun:
                self.observer.started(task)
                begun = True
            self.observer.said(task, line)

        base = self.runtime.base(image, say)
        if begun:
            self.observer.finished(task, base.origin, good=True)
        return base
