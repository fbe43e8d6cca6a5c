"""One cell once more, by hand: the exact command, and the environment that it needs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.devices import Busy, Unusable
from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.execute.port import Job, Plan, Step
from orchestrator.execute.schedule import Scheduler, Unprepared
from orchestrator.knowledge import probes_of
from orchestrator.matrix import Selection, expand, find
from orchestrator.measure import job_for
from orchestrator.model import Unresolvable
from orchestrator.resolve import axis_versions

if TYPE_CHECKING:
    from orchestrator.workshop import Workshop


_GLANCE = 0.25
"""Seconds between two looks at devices that others have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A cell's probes as they are run, and the plan of the environment they need."""

    job: Job
    plan: Plan

    @property
    def step(self) -> Step:
        """The environment."""
        return self.plan.chain(self.job.lock.digest)[-1]


def repeat(shop: Workshop, name: str, issues: tuple[str, ...] = ()) -> Repetition:
    """Return what runs a cell's probes again, those of some issues or all. Nothing is made or run.

    Raises:
        ConfigError: there is no such cell or issue, the cell is excluded, or no issue asks about it.
        EnvironmentUnusableError: it cannot be run on this host, or no index has what it needs.
    """
    cells = expand(shop.matrix, axis_versions(shop.matrix, shop.resolver.pages))
    cell = find(cells, name)
    if cell.excluded is not None:
        raise ConfigError(f"{name} is excluded: {cell.excluded}")
    if unknown := sorted(set(issues) - set(shop.matrix.issues)):
        raise ConfigError(f"there is no issue {unknown[0]!r}", hint=f"there are {', '.join(shop.matrix.issues)}")
    probes = probes_of(shop.matrix, cell, Selection(issues=issues))
    if not probes:
        raise ConfigError(f"no issue that was asked for has a probe in {name}")
    if (reason := shop.devices.missing(cell.device)) is not None:
        raise EnvironmentUnusableError(f"{name} cannot be run here: {reason}")
    (locked,) = shop.resolve([cell])
    if isinstance(locked, Unresolvable):
        raise EnvironmentUnusableError(f"{name} cannot be had: {locked.reason}")
    plan = shop.plan(shop.lock_candidates(cells, [locked]))
    job = job_for(shop, cell, locked.lock, probes, attempt=f"{cell.id}-again")
    return Repetition(job=replace(job, grant=shop.devices.preview(cell.device)), plan=plan)


def lease(shop: Workshop, repetition: Repetition) -> Repetition:
    """Return a repetition that has its device to itself until this process, or what takes its place, ends.

    Waits as long as others have all that could be used; a cancel ends the waiting without a lease.

    Raises:
        EnvironmentUnusableError: nothing can be used.
    """
    told = False
    while isinstance(found := shop.devices.acquire(repetition.job.device), Busy):
        if found.elsewhere and not told:
            shop.observer.phase("waiting for a GPU: other runs have all of them")
            told = True
        if shop.cancel.wait(_GLANCE):
            shop.devices.wait_no_more()
            return repetition
    if isinstance(found, Unusable):
        raise EnvironmentUnusableError(f"{repetition.job.cell} cannot be run here: {found.reason}")
    if found.lease is not None:
        found.lease.hand_down()
    return replace(repetition, job=replace(repetition.job, grant=found))


def make(shop: Workshop, repetition: Repetition) -> None:
    """Make the environment of a repetition, unless it is there.

    Raises:
        EnvironmentUnusableError: it cannot be made.
    """
    failed: list[Unprepared] = []
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="build") as executor:
        scheduler = Scheduler(
            shop.runtime,
            executor,
            width=1,
            limits=shop.matrix.limits,
            observer=shop.observer,
            cancel=shop.cancel,
            took=shop.took,
        )
        scheduler.build(
            repetition.plan, [repetition.job.lock.digest], lambda _step, failure: failed.append(failure)
        )
    if failed:
        raise EnvironmentUnusableError(f"the environment cannot be made: {failed[0].reason}\n{failed[0].log}")
