"""One container's life: created, started, read, signalled, looked at, removed."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, NotFound

from orchestrator.execute.owner import has_died
from orchestrator.images import ENGINE_ERRORS, TOOL, TOOL_LABEL
from orchestrator.images.stream import StreamStoppedError, cut, events, tap

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator

    from docker import APIClient

    from orchestrator.execute.console import Console
    from orchestrator.execute.docker_spec import ContainerSpec
    from orchestrator.images import Engine

_CONFLICT = 409
_REMOVALS = 10
_PAUSE = 0.5
_SETTLE = 0.02
_EVENT_GRACE = 5.0
_LOG_GRACE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the engine says of a container that has ended."""

    exit_code: int
    out_of_memory: bool
    error: str


class Container:
    """A created container; a `Target` for the ladder."""

    def __init__(self, engine: Engine, identity: str, name: str) -> None:
        self._engine = engine
        self._api = engine.api
        self.id = identity
        self.name = name
        self._pause: float | None = None
        self._reader: threading.Thread | None = None
        self._read = threading.Event()

    @classmethod
    def create(cls, engine: Engine, spec: ContainerSpec) -> Container:
        """Create the container; one of the same name is what an attempt that died has left, and goes first."""
        try:
            return cls(engine, spec.create(engine.api), spec.name)
        except APIError as error:
            # Podman has no status of its own for it.
            if error.status_code != _CONFLICT and "already in use" not in str(error.explanation):
                raise
        except ENGINE_ERRORS:
            # The answer was lost, the container may be there all the same.
            found = _find(engine.api, spec.name)
            if found is None:
                raise
            return cls(engine, found, spec.name)
        remove(engine.api, spec.name)
        return cls(engine, spec.create(engine.api), spec.name)

    def start(self, console: Console) -> None:
        """Start it with somebody listening."""
        client = self._engine.client(timeout=60)
        answers = tap(client)
        stream = client.attach(self.id, stdout=True, stderr=True, stream=True, logs=True)

        def read() -> None:
            try:
                for chunk in stream:
                    console.write(chunk)
            except (*ENGINE_ERRORS, ValueError):  # cut off: the log is what came until then
                pass
            finally:
                self._read.set()
                for answer in answers:
                    cut(answer)
                self._engine.release(client)

        self._reader = threading.Thread(target=read, name=f"log-{self.id[:12]}", daemon=True)
        self._reader.start()
        self._api.start(self.id)

    def ended(self, wait: float) -> bool:
        """Wait up to so many seconds; tell whether it has ended. The end of the log is only a hint to look."""
        if self._pause is None and self._read.wait(wait):
            self._pause = _SETTLE
        if self._pause is not None:
            # The end comes within moments as a rule; a process that closed its output may take its time.
            time.sleep(min(wait, self._pause))
            self._pause = min(wait, 2 * self._pause)
        state = self._api.inspect_container(self.id)["State"]
        return not state.get("Running") and not state.get("Restarting")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to its first process."""
        try:
            self._api.kill(self.id, signal=number.name)
        except APIError as error:
            # Not there or not running: it has ended in the meantime.
            if error.status_code not in (404, _CONFLICT) and "is not running" not in str(error.explanation):
                raise

    def state(self) -> State:
        """Return how it ended."""
        state: dict[str, Any] = self._api.inspect_container(self.id)["State"]
        return State(
            exit_code=int(state["ExitCode"]),
            out_of_memory=bool(state.get("OOMKilled")),
            error=str(state.get("Error") or ""),
        )

    def restarted_under(self) -> bool:
        """Tell whether the engine that saw it start is not the one that saw it end.

        An engine that is restarted ends its containers and records an exit status like any other, but it keeps
        events in memory only: the end of a container that it did see is among them.
        """
        if self._engine.daemonless:
            return False
        started = str(self._api.inspect_container(self.id)["State"]["StartedAt"])
        since = datetime.fromisoformat(started[:19]).replace(tzinfo=UTC)

        def ends(client: APIClient, until: datetime | None = None) -> Iterator[Any]:
            filters = {"container": self.id, "event": ["die"]}
            return client.events(since=since, until=until, filters=filters, decode=True)

        # Asked until a moment that has passed, the engine tells at once what it has seen.
        if list(ends(self._api, until=since)):
            return False
        try:
            with closing(events(self._engine, ends, timeout=_EVENT_GRACE)) as seen:
                return next(seen, None) is None
        except StreamStoppedError:
            return True

    def drain(self) -> None:
        """Give the reader of the log a moment to reach its end; a process that holds it open cannot keep us."""
        if self._reader is not None:
            self._reader.join(_LOG_GRACE)

    def remove(self) -> str | None:
        """Remove it with its volume; return why that was not possible."""
        return remove(self._api, self.id)


def remove(api: APIClient, name: str) -> str | None:
    """Remove a container and its volumes, whatever state it is in; return why that was not possible."""
    reason = None
    for _ in range(_REMOVALS):
        try:
            api.remove_container(name, v=True, force=True)
        except NotFound:
            return None
        except ENGINE_ERRORS as error:  # busy, or being removed already
            reason = str(error)
            time.sleep(_PAUSE)
        else:
            return None
    return reason


def reap(api: APIClient) -> int:
    """Remove the containers of runs that were killed before they could; return how many there were."""
    found = api.containers(all=True, filters={"label": f"{TOOL_LABEL}={TOOL}"})
    dead = [container["Id"] for container in found if has_died(container["Labels"])]
    return sum(remove(api, identity) is None for identity in dead)


def _find(api: APIClient, name: str) -> str | None:
    with suppress(*ENGINE_ERRORS):  # the engine is still not well: then there is nothing to find
        return str(api.inspect_container(name)["Id"])
    return None
