"""What a plan comes to: bytes, what is there already, and how long the rest may take. Pure."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.execute.port import Step
from orchestrator.planning.bound import least_bytes
from orchestrator.planning.groups import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orchestrator.execute.port import Held, Plan
    from orchestrator.model import Lock

UNPACKED_PER_DOWNLOADED = 2.2
"""Bytes on disk per byte of wheel, measured on the CUDA builds of torch 2.1 to 2.8 (1.7 to 2.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step of a plan. `stored` is measured where the step is there, else estimated from its wheels."""

    step: Step
    depth: int
    ready: bool
    stored: int
    cells: tuple[str, ...]
    """The cells whose environment the step is; others stand on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """A plan's steps, depth first, and what they come to. Sizes in bytes, times in seconds."""

    steps: tuple[PlannedStep, ...]
    stored: int
    apart: int
    """What the same cells would store without sharing: one environment for each, nothing in common."""
    wheels: int
    """Bytes of wheels in the steps, compressed."""
    least: int
    """A proven lower bound of `wheels`."""
    download: int
    seconds: float

    @property
    def missing(self) -> tuple[PlannedStep, ...]:
        """The steps that are to be made."""
        return tuple(one for one in self.steps if not one.ready)


def outlook(
    plan: Plan,
    cells: Mapping[str, Lock],
    held: Mapping[str, Held],
    *,
    seconds: Callable[[Step], float],
    width: int,
) -> Outlook:
    """Look at the part of a plan that some cells need.

    `seconds` says how long a step may take, `width` how many are made at once.
    """
    needed: dict[str, Step] = {step.key: step for lock in cells.values() for step in plan.chain(lock.digest)}
    of_step: dict[str, list[str]] = {}
    for cell, lock in cells.items():
        of_step.setdefault(plan.environments[lock.digest], []).append(cell)
    # What is there tells how much a wheel becomes; where nothing is, experience does.
    known = [(held[key].size, step.size) for key, step in needed.items() if key in held and step.size]
    ratio = sum(s for s, _ in known) / sum(w for _, w in known) if known else UNPACKED_PER_DOWNLOADED

    def stored(step: Step) -> int:
        return held[step.key].size if step.key in held else int(step.size * ratio)

    steps = tuple(
        PlannedStep(
            step=step,
            depth=len(_ancestors(needed, step)),
            ready=step.key in held,
            stored=stored(step),
            cells=tuple(sorted(of_step.get(step.key, ()))),
        )
        for step in _depth_first(needed)
    )
    missing = {step.key: step for step in needed.values() if step.key not in held}
    wheels = {d.wheel: d.size or 0 for step in missing.values() for d in step.distributions}
    locks = [(lock, plan.chain(lock.digest)[0].base) for lock in cells.values()]
    return Outlook(
        steps=steps,
        stored=sum(one.stored for one in steps),
        apart=sum(stored(step) for lock in cells.values() for step in plan.chain(lock.digest)),
        wheels=sum(counted(d) for step in needed.values() for d in step.distributions),
        least=least_bytes(locks),
        download=sum(wheels.values()),
        seconds=makespan(missing, seconds, width),
    )


def makespan(steps: Mapping[str, Step], seconds: Callable[[Step], float], width: int) -> float:
    """Return how long steps take, `width` at a time, a step after its parent, in the order given."""
    children: dict[str | None, list[Step]] = {}
    for step in steps.values():
        children.setdefault(step.parent if step.parent in steps else None, []).append(step)
    ready = deque(children.get(None, ()))
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < width:
            step = ready.popleft()
            heapq.heappush(running, (now + seconds(step), step.key))
        now, key = heapq.heappop(running)
        ready.extend(children.get(key, ()))
    return now


def _depth_first(steps: Mapping[str, Step]) -> list[Step]:
    children: dict[str | None, list[Step]] = {}
    for step in steps.values():
        children.setdefault(step.parent, []).append(step)
    ordered: list[Step] = []
    stack = children.get(None, [])[::-1]
    while stack:
        step = stack.pop()
        ordered.append(step)
        stack += children.get(step.key, [])[::-1]
    return ordered


def _ancestors(steps: Mapping[str, Step], step: Step) -> list[str]:
    found = []
    at = step.parent
    while at is not None:
        found.append(at)
        at = steps[at].parent
    return found
