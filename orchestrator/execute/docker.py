"""Run probes in hardened containers, on images that share their layers."""

from __future__ import annotations

import shlex
import signal
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.devices import CdiUnusableError, Passthrough, spec_directories, through_cdi
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.console import Console
from orchestrator.execute.docker_container import Container, reap
from orchestrator.execute.docker_harvest import harvest_container
from orchestrator.execute.docker_spec import COMMAND, PROBES, RUNNER, specify
from orchestrator.execute.handover import describe, hand_over
from orchestrator.execute.ladder import LADDER, Ladder, see_through
from orchestrator.execute.owner import owner
from orchestrator.execute.port import RawAttempt, StepFailedError
from orchestrator.execute.runner import PAYLOAD
from orchestrator.images import (
    ENGINE_ERRORS,
    Bases,
    Builds,
    Certificates,
    Engine,
    Inventory,
    Layers,
    Registry,
    brief,
    connect,
    reference,
    unreachable,
)
from orchestrator.planning import plan_steps
from orchestrator.wheels.ahead import Ahead
from orchestrator.wheels.server import WheelServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from docker import APIClient

    from orchestrator.execute.docker_spec import ContainerSpec
    from orchestrator.execute.port import Base, Held, Job, Plan, Step
    from orchestrator.images import ImageSettings
    from orchestrator.model import BaseImage, Limits, Lock
    from orchestrator.wheels.cache import WheelCache


_AHEAD = 4 * 10**9
"""Bytes of wheels that are downloaded ahead of the builds, at most."""

_SIGNAL_BASE = 128
_INIT_FAILED = {126: "[FATAL tini", 127: "[FATAL tini", 1: "ERROR (catatonit"}
"""What the container's init says where it cannot run the program; its exit status alone might be the probe's."""


def engine_missing() -> str | None:
    """Return why no engine answers here, None where one does; takes a few seconds at most."""
    return unreachable()


class DockerRuntime:
    """Environments are images, and every attempt is a container of its own (see `Runtime`)."""

    name = "docker"
    notices: tuple[str, ...] = ()

    def __init__(
        self,
        cache: Path,
        images: ImageSettings,
        wheels: WheelCache,
        *,
        note: Callable[[str], None] = lambda _line: None,
        payload: Path = PAYLOAD,
        ladder: Ladder = LADDER,
        clients: Callable[[float], APIClient] = connect,
    ) -> None:
        cache = cache / "docker"
        self._engine = Engine(clients)
        self._builds = Builds(
            self._engine,
            builder=images.builder,
            certificates=Certificates(cache / "certificates.txt"),
            logs=cache / "logs",
        )
        self._registry = None if images.registry is None else Registry(self._engine, images.registry)
        self._server = WheelServer(wheels)
        # Half of the cache: what is ahead must not push out what is being read.
        self._ahead = Ahead(wheels, most=min(wheels.limit // 2, _AHEAD))
        self._bases = Bases(
            self._engine,
            self._builds,
            cache=cache,
            dockerfiles=images.dockerfiles,
            registry=self._registry,
            note=note,
        )
        self._layers = Layers(
            self._engine,
            self._bases,
            self._builds,
            dockerfile=images.dockerfiles / "layer.Dockerfile",
            wheels=wheels,
            server=self._server,
            registry=self._registry,
            note=note,
        )
        self._inventory = Inventory(self._engine)
        self._payload = payload
        self._ladder = ladder
        self._starting = threading.Lock()
        self._serving = False
        self._touched: set[str] = set()
        self._reaping = threading.Lock()
        self._reaped = False

    def base(self, image: BaseImage, say: Callable[[str], None]) -> Base:
        """Find or make the base of one Python."""
        with _engine_needed():
            return self._bases.find(image, say)

    def contents(self, base: Base) -> Mapping[str, str] | None:
        """Return what a prebuilt image has installed; it is looked into once."""
        with _engine_needed():
            return self._bases.contents.known(base)

    def plan(self, locks: Sequence[tuple[Lock, Base]]) -> Plan:
        """Plan the layers of all locks together."""
        return plan_steps(locks, self._layers.dockerfile, self.held().values())

    def ready(self, step: Step) -> bool:
        """Tell whether the step's image is there."""
        with _engine_needed():
            return self._layers.ready(step)

    def expect(self, steps: Sequence[Step]) -> None:
        """Download the wheels of steps ahead; not where a registry may have their layers."""
        if self._registry is None:
            self._ahead.expect(d for step in steps for d in step.distributions)

    def prepare(self, step: Step, limits: Limits, say: Callable[[str], None], cancel: Event) -> None:
        """Build the step's image."""
        with self._starting:
            if not self._serving:
                self._serving = True
                try:
                    self._server.start()
                except OSError as error:  # a host without any network may be without this interface
                    self._layers.unserved(f"builds cannot be served on the loopback interface ({error.strerror})")
        self._ahead.used(step.distributions)
        try:
            self._layers.prepare(step, say, timeout=limits.build_timeout, cancel=cancel)
        except ENGINE_ERRORS as error:
            raise StepFailedError(f"the build could not be carried out: {brief(error)}", transient=True) from error
        if not self._layers.served:
            self._ahead.close()  # nobody will ask this host for them

    def execute(self, job: Job, step: Step, say: Callable[[str], None], cancel: Event) -> RawAttempt:
        """Run a job in a container of its own, which is gone afterwards."""
        if (reason := job.ungranted) is not None:
            return RawAttempt(started=False, failure=reason)
        self._reap(say, again=job.grant is not None and job.grant.orphaned)
        console: Console | None = None
        container: Container | None = None
        try:
            _describe(job)
            console = Console(job.directory / "log.txt")
            self._touch(step.key)
            spec = self._spec(job, step)
            if (absent := spec.absent) is not None:
                attempt = RawAttempt(started=False, failure=f"{absent}, which it is to read, is not there")
            else:
                container = Container.create(self._engine, spec)
                attempt = self._collect(container, _run(container, console, job, cancel, self._ladder), job)
        except CdiUnusableError as error:
            attempt = RawAttempt(started=False, failure=str(error))
        except ENGINE_ERRORS as error:
            attempt = RawAttempt(started=False, failure=f"the attempt could not be carried out: {brief(error)}")
        finally:
            if container is not None:
                if (left := container.remove()) is not None:
                    say(f"container {container.name} is still there: {left}")
                container.drain()
            log = console.close() if console is not None else ""
        if attempt.exit_code in _INIT_FAILED and log.startswith(_INIT_FAILED[attempt.exit_code]):
            attempt = replace(
                attempt, started=False, exit_code=None, failure=f"the image is broken: {log.strip()}"
            )
        if attempt.failure:
            say(attempt.failure)
        return replace(attempt, log=log)

    def _touch(self, key: str) -> None:
        """Once in a run, note that an image is used."""
        with self._starting:
            if key in self._touched:
                return
            self._touched.add(key)
        self._inventory.touch(key)

    def _reap(self, say: Callable[[str], None], *, again: bool) -> None:
        """Remove what runs that were killed have left: once in a run, and where a device's last holder died."""
        with self._reaping:
            if self._reaped and not again:
                return
            self._reaped = True
            with suppress(*ENGINE_ERRORS):  # an engine in trouble is found out by what follows
                if count := reap(self._engine.api):
                    say(f"removed {count} containers of runs that were killed")

    def _collect(self, container: Container, attempt: RawAttempt, job: Job) -> RawAttempt:
        if not attempt.started:
            return attempt
        harvest = harvest_container(self._engine.api, container.id)
        harvest.keep(job.directory / "out")
        return replace(attempt, artifacts=harvest.taken, refused=harvest.refused)

    def held(self) -> dict[str, Held]:
        """Return every layer and every prepared base that is there."""
        with _engine_needed():
            return self._inventory.held()

    def discard(self, key: str) -> bool:
        """Remove a step's image, unless others stand on it or a container uses it."""
        with _engine_needed():
            return self._inventory.discard(key)

    def command(self, job: Job, step: Step) -> tuple[str, ...]:
        """Return the `docker run` that does what `execute` does, and write the description that it reads."""
        _describe(job)
        return self._spec(job, step).argv()

    def shell(self, job: Job, step: Step, *, terminal: bool) -> tuple[str, ...]:
        """Return the `docker run` that opens a shell, and write the description that `again` reads."""
        _describe(job)
        return self._spec(job, step).shell(terminal=terminal)

    def again(self, job: Job, step: Step) -> str:  # noqa: ARG002 - the same in every container
        """Return the command that `execute` gives to the container."""
        return shlex.join(COMMAND)

    def recipe(self, step: Step) -> str:
        """Return the Dockerfile of the step with what it installs."""
        return self._layers.recipe(step)

    def export(self, base: Base, directory: Path, limits: Limits, cancel: Event) -> None:
        """Write the prepared base as an image archive."""
        with _engine_needed():
            self._bases.export(base, directory, timeout=limits.build_timeout, cancel=cancel)

    def finish(self, say: Callable[[str], None], cancel: Event) -> None:
        """Wait for what is still to be pushed to the registry."""
        if self._registry is not None and (left := self._registry.drain(cancel=cancel, timeout=0.0)):
            say(f"pushing {left} images to the registry")
            self._registry.drain(cancel=cancel)

    def close(self) -> None:
        """End what is being pushed or downloaded, and close the connections to the engine."""
        if self._registry is not None:
            self._registry.close()
        self._ahead.close()
        self._server.close()
        self._engine.close()

    def _spec(self, job: Job, step: Step) -> ContainerSpec:
        return specify(
            job,
            self._passthrough(job),
            image=reference(step.key),
            payload=self._payload,
            client=self._engine.command,
            labels={**owner(), "io.orchestrator.cell": job.cell, "io.orchestrator.attempt": job.attempt},
        )

    def _passthrough(self, job: Job) -> Passthrough:
        """Return what the job's container gets of its device, by CDI where that is asked for."""
        passthrough = Passthrough() if job.grant is None else job.grant.passthrough
        if passthrough.by_cdi:
            return through_cdi(passthrough, spec_directories(self._engine.api.info()))
        return passthrough


@contextmanager
def _engine_needed() -> Iterator[None]:
    """Say it plainly where the engine went away in the middle of a run."""
    try:
        yield
    except ENGINE_ERRORS as error:
        raise EnvironmentUnusableError(
            f"the Docker engine does not answer any more: {brief(error)}",
            hint="start it again and repeat the command; what was measured is kept",
        ) from error


def _describe(job: Job) -> None:
    hand_over(job, describe(job, probes=PROBES, runner=RUNNER))


def _run(container: Container, console: Console, job: Job, cancel: Event, ladder: Ladder) -> RawAttempt:
    """See a created container through to its end."""
    start = time.monotonic()
    try:
        container.start(console)
    except ENGINE_ERRORS as error:
        return RawAttempt(started=False, failure=f"the container did not start: {brief(error)}")
    ending = see_through(container, deadline=job.deadline, cancel=cancel, ladder=ladder)
    duration = time.monotonic() - start
    if ending.survived:
        return RawAttempt(
            started=False,
            failure="the container does not end, not even by SIGKILL: its device or disk may be wedged",
            survived=True,
            deadline_passed=ending.deadline_passed,
            cancelled=ending.cancelled,
            duration=duration,
        )
    container.drain()
    state = container.state()
    if state.error:
        return RawAttempt(started=False, failure=f"the container did not run: {state.error}", duration=duration)
    if container.restarted_under():
        failure = "the engine was restarted while the container ran: its exit status says nothing"
        return RawAttempt(started=False, failure=failure, duration=duration)
    number = state.exit_code - _SIGNAL_BASE
    by_signal = number in signal.valid_signals()
    return RawAttempt(
        exit_code=None if by_signal else state.exit_code,
        signal=number if by_signal else None,
        deadline_passed=ending.deadline_passed,
        cancelled=ending.cancelled,
        out_of_memory=state.out_of_memory,
        duration=duration,
    )
