"""Examine a host: every question at once, each with its own deadline, then the judgements in their order.

What has to do with images is asked when the engine has answered. However much hangs, it takes no longer than the
longest of the first questions, the longest of the second, and a moment for putting away.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from orchestrator.bundle import bundled
from orchestrator.doctor import builder as builders
from orchestrator.doctor import devices, disk, indexes, interpreters, leftovers, network
from orchestrator.doctor.base import judge_bases, judge_registry
from orchestrator.doctor.engine import (
    EngineSeen,
    Silence,
    Unreachable,
    judge_engine,
    judge_memory,
    judge_silence,
)
from orchestrator.doctor.finding import Examination, Finding, Level, conclude
from orchestrator.doctor.inquiry import Inquiry, LateError, end
from orchestrator.doctor.secrets import Secrets
from orchestrator.doctor.world import devices as world_devices
from orchestrator.doctor.world import disk as world_disk
from orchestrator.doctor.world import engine as world_engine
from orchestrator.doctor.world import images as world_images
from orchestrator.doctor.world import indexes as world_indexes
from orchestrator.doctor.world import interpreters as world_interpreters
from orchestrator.doctor.world import leftovers as world_leftovers
from orchestrator.doctor.world import network as world_network
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.images import ENGINE_ERRORS
from orchestrator.images.engine import endpoint
from orchestrator.report.clean import cleaned
from orchestrator.resolve.pages import default_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from threading import Event

    from orchestrator.devices import Health
    from orchestrator.doctor.scope import Scope

T = TypeVar("T")

FIRST = 6.0
"""Seconds for the questions that need nothing but the host, the engine's own answer among them."""

SECOND = 10.0
"""Seconds for the questions to an engine that answers."""

_GRACE = 1.0
_PUT_AWAY = 1.5


def examine(scope: Scope) -> Examination:
    """Ask everything and judge it; no longer than `FIRST + SECOND` seconds and a moment."""
    visit = _Visit(scope)
    try:
        found = list(visit.findings())
    finally:
        visit.close()
    variables = world_network.proxies()
    urls = [
        *variables.values(),
        *visit.engine_proxies,
        *(index.url or "" for index in scope.indexes),
        default_index(),
    ]
    secrets = Secrets(urls)
    return conclude((cleaned(secrets.scrubbed(one)) for one in found), scope.runtimes)


class _Visit:
    """One examination under way: the questions that are open, and the order of their answers."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._open: list[Inquiry[object]] = []
        self._tried: tuple[Inquiry[builders.BuilderSeen], ...] = ()
        self.engine_proxies: tuple[str, ...] = ()

    def findings(self) -> Iterator[Finding]:
        """Yield all findings, area by area."""
        scope, first = self._scope, partial(self._ask, patience=FIRST)
        engine = first(world_engine.look_at_engine) if "docker" in scope.runtimes else None
        store = first(lambda _: world_disk.store(scope.store))
        certificates = first(world_network.look_at_certificates)
        uv = first(world_interpreters.look_at_uv)
        offline = _in_time(first(lambda _: bundled(scope.cache) is not None), lambda: False)
        asked = (
            []
            if offline
            else [(index, first(partial(world_indexes.look_at_index, index))) for index in scope.indexes]
        )
        pythons = first(partial(world_interpreters.look_at_interpreters, scope.pythons))
        seen_devices = first(lambda _: world_devices.look_at_devices())
        attempts = first(partial(world_leftovers.left_in_store, scope.store))
        health = first(world_devices.look_at_health)
        shm = first(lambda _: world_devices.shared_memory())

        seen = None
        if engine is not None:
            seen = _in_time(engine, _hanging_engine)
            yield from self._engine(seen)
        yield from self._judged("disk.store", store, lambda one: disk.judge_store(one, wheels=scope.limits.wheels))
        yield from network.judge_proxies(world_network.proxies())
        if isinstance(seen, EngineSeen):
            yield from network.judge_engine_proxies(world_network.proxies(), seen.proxies)
        yield from self._judged("network.certificates", certificates, network.judge_certificates)
        if offline:
            yield from indexes.judge_bundle()
        for index, inquiry in asked:
            default = index.url is None
            late = indexes.late_index(index.name, world_indexes.address(index), default=default)
            judge = partial(indexes.judge_index, default=default)
            yield from self._judged(late.id, inquiry, judge, late)
        yield from self._judged("uv", uv, lambda one: (interpreters.judge_uv(one),))
        if "venv" in scope.runtimes:
            yield from self._judged("python", pythons, interpreters.judge_interpreters)
        yield from self._judged("device", seen_devices, lambda one: self._devices(one, seen, health))
        if "venv" in scope.runtimes:
            yield from self._judged("device.shm", shm, lambda one: devices.judge_shm(one, scope.limits.shm))
        yield from self._judged("leftover.attempts", attempts, leftovers.judge_attempts)

    def close(self) -> None:
        """Let go of what is still asked, and put away what trying a builder has left that was not done."""
        end(self._open, grace=_GRACE)
        if self._tried and not all(inquiry.done for inquiry in self._tried):
            with suppress(LateError, EnvironmentUnusableError, *ENGINE_ERRORS):
                Inquiry(world_images.put_away_trials, patience=_PUT_AWAY).answer()

    def _engine(self, seen: EngineSeen | Unreachable) -> Iterator[Finding]:
        """Judge the engine, and everything that only one which answers can be asked."""
        if isinstance(seen, Unreachable):
            yield from judge_silence(seen)
            return
        self.engine_proxies = tuple(seen.proxies.values())
        yield from judge_engine(seen)
        yield from judge_memory(seen, self._scope.limits.memory)
        scope, second = self._scope, partial(self._ask, patience=SECOND)
        tried = {
            "buildkit": second(partial(world_images.try_buildkit, scope)),
            "classic": second(world_images.try_classic),
        }
        self._tried = tuple(tried.values())
        held = second(world_images.held)
        room = second(lambda _: world_disk.data_root(seen.root) if seen.local else None)
        bases = second(partial(world_images.look_at_bases, scope))
        registry = None
        if scope.registry is not None:
            registry = second(partial(world_images.look_at_registry, scope.registry))
        left = second(world_leftovers.left_in_engine)

        yield from builders.judge_builders(
            scope.builder,
            tuple(
                _in_time(one, partial(builders.BuilderSeen, name=name, works=False, late=True))
                for name, one in tried.items()
            ),
        )
        yield from disk.judge_engine_disk(
            _in_time(room, lambda: None),
            root=seen.root,
            held=_in_time(held, lambda: None),
            limit=scope.limits.disk,
        )
        yield from self._judged("base", bases, judge_bases)
        if registry is not None:
            yield from self._judged("registry", registry, lambda one: (judge_registry(one),))
        yield from self._judged("leftover.containers", left, lambda one: leftovers.judge_containers(*one))

    def _devices(
        self,
        seen: devices.DevicesSeen,
        engine: EngineSeen | Unreachable | None,
        health: Inquiry[Mapping[str, Health]],
    ) -> Iterator[Finding]:
        stacks = self._scope.stacks
        yield from devices.judge_gpus(seen, stacks, self._scope.runtimes)
        if seen.gpus:
            yield from self._judged("device.health", health, devices.judge_health, devices.judge_late_health())
        toolkit = None
        if isinstance(engine, EngineSeen):
            toolkit = "nvidia" in engine.runtimes or engine.cdi
            if engine.rootless:
                yield from devices.judge_rootless_devices(seen)
        yield from devices.judge_nvidia(seen, stacks, toolkit=toolkit)

    def _ask(self, ask: Callable[[Event], T], *, patience: float) -> Inquiry[T]:
        inquiry = Inquiry(ask, patience=patience)
        self._open.append(inquiry)  # type: ignore[arg-type] # only cancelled and waited for
        return inquiry

    def _judged(
        self, area: str, inquiry: Inquiry[T], judge: Callable[[T], Iterable[Finding]], late: Finding | None = None
    ) -> Iterator[Finding]:
        """Yield the findings on an answer, and one of its own where there is none."""
        try:
            seen = inquiry.answer()
        except LateError:
            yield late or _unknown(area, "there was no answer in time")
        except (EnvironmentUnusableError, *ENGINE_ERRORS) as error:
            yield _unknown(area, str(error))
        else:
            yield from judge(seen)


def _in_time(inquiry: Inquiry[T], late: Callable[[], T]) -> T:
    """Return the answer, and something else where there is none."""
    try:
        return inquiry.answer()
    except (LateError, EnvironmentUnusableError, *ENGINE_ERRORS):
        return late()


def _hanging_engine() -> EngineSeen | Unreachable:
    reason = f"nothing after {FIRST:.0f} s"
    return Unreachable(endpoint=endpoint(), named=world_engine.is_named(), silence=Silence.HANGS, reason=reason)


def _unknown(area: str, reason: str) -> Finding:
    return Finding(
        id=area,
        level=Level.NOTE,
        summary=f"this could not be looked at: {reason}",
        hint="call it again; where that does not help, what it asks may hang",
    )
