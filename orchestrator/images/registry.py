"""Images that machines share through a registry: pulled before they would be built, pushed when they were.

A registry only saves work. Whatever is wrong with it is said and the run goes on; credentials are those that the
user gave `docker login`.
"""

from __future__ import annotations

import queue
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from orchestrator.images.engine import ENGINE_ERRORS, brief
from orchestrator.images.labels import STEP_LABEL, TOOL, TOOL_LABEL
from orchestrator.images.transfer import AbsentError, RefusedError, RegistryError, ask, fetch, send
from orchestrator.registries import split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

    from orchestrator.images.engine import Engine

    Say = Callable[[str], None]

Way = Literal["pull", "push"]

_TICK = 0.2
_SIDE_BY_SIDE = 3
_REFUSALS = {"pull": "does not give images", "push": "does not take images"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a registry is waited for; times in seconds."""

    tries: int = 3
    """Per image."""
    pause: float = 2.0
    """Before the second try; doubled before every further one."""
    failures: int = 6
    """Failed tries in a row, of whichever images, after which the registry is not asked again in this run."""
    answer: float = 20.0
    """For a question."""
    stall: float = 120.0
    """Without any progress of a transfer. A registry may be silent while it checks a layer of some GB."""
    timeout: float = 3600.0
    """For the transfer of one image."""

    def pauses(self) -> tuple[float, ...]:
        """Return how long to wait before each try."""
        return (0.0, *(self.pause * 2**number for number in range(self.tries - 1)))


class Registry:
    """One place in a registry, `host:port/name`. Images are found there by tag: `layer-<key>`, `base-<key>`.

    Methods may be called from several threads at once, but for one image by one of them.

    Raises:
        ValueError: that is not the name of such a place.
    """

    def __init__(self, engine: Engine, name: str, *, patience: Patience | None = None) -> None:
        self._host, _ = split(name)
        self._engine = engine
        self._name = name
        self._patience = patience or Patience()
        self._guard = threading.Lock()
        self._failures = 0
        self._closed: set[Way] = set()
        self._wrong: set[str] = set()
        # The engine fetches that many layers at once: with more pulls, those that wait would look stalled.
        self._slots = threading.Semaphore(_SIDE_BY_SIDE)
        self._later = _Later(self.push)

    def pull(self, local: str, key: str, say: Say, *, cancel: Event) -> bool:
        """Get an image under its local name; tell whether it is there now, and is the image of that key.

        A registry that does not have it is no news. Everything else that keeps it away is said in one line.
        """
        remote = self.remote(local)
        return self._attempts("pull", remote, say, cancel, lambda: self._pull(local, remote, key, say, cancel))

    def push(self, local: str, key: str, say: Say, *, cancel: Event) -> bool:
        """Put an image into the registry, unless it is there; tell whether it is there now."""
        remote = self.remote(local)
        return self._attempts("push", remote, say, cancel, lambda: self._push(local, remote, key, say, cancel))

    def push_later(self, local: str, key: str, say: Say) -> None:
        """Push in the background, one image after the other. Nothing is taken any more after `close`."""
        self._later.add(local, key, say)

    def drain(self, *, cancel: Event, timeout: float | None = None) -> int:
        """Wait for what was to be pushed later; return how many images are left when cancelled or out of time."""
        return self._later.drain(cancel, timeout)

    def close(self) -> None:
        """Give up what is still to be pushed, and wait for that to end. The engine stays open."""
        self._later.close()

    def remote(self, local: str) -> str:
        """Return what an image is called in the registry: `orchestrator/layer:1a2b` becomes `…:layer-1a2b`."""
        return f"{self._name}:{local.rpartition('/')[2].replace(':', '-')}"

    def _attempts(self, way: Way, remote: str, say: Say, cancel: Event, once: Callable[[], bool]) -> bool:
        reason = ""
        for pause in self._patience.pauses():
            if cancel.wait(pause) or way in self._closed:
                return False
            try:
                done = once()
            except AbsentError:
                self._failures = 0
                return False
            except RefusedError as error:
                self._give_up({way}, f"{_REFUSALS[way]} ({error})", say)
                return False
            except (RegistryError, *ENGINE_ERRORS) as error:
                reason = brief(error) if not isinstance(error, RegistryError) else str(error)
                if not cancel.is_set() and self._failed():
                    self._give_up({"pull", "push"}, f"does not work ({reason})", say)
            else:
                self._failures = 0
                return done
        if not cancel.is_set() and way not in self._closed:
            say(f"cannot {way} {remote}: {reason}")
        return False

    def _failed(self) -> bool:
        with self._guard:
            self._failures += 1
            return self._failures >= self._patience.failures

    def _give_up(self, ways: set[Way], why: str, say: Say) -> None:
        with self._guard:
            new = ways - self._closed
            self._closed |= ways
        if new:
            say(f"the registry {self._host} {why}: going on without it")

    def _pull(self, local: str, remote: str, key: str, say: Say, cancel: Event) -> bool:
        # A pull gives no sign of life before the registry's first answer, and cannot be cut off until then.
        platforms = ask(self._engine, remote, timeout=self._patience.answer, cancel=cancel)
        if platforms and (mine := self._platform()) not in platforms:
            say(f"{remote} is for {', '.join(platforms)}, not for {mine}: not used")
            return False
        try:
            with self._slot(cancel):
                say(f"pulling {remote}")
                fetch(
                    self._engine,
                    remote,
                    timeout=self._patience.timeout,
                    stall=self._patience.stall,
                    cancel=cancel,
                )
            if not _is(self._engine.image(remote), key):
                self._wrong.add(remote)
                say(f"{remote} is another image than its name says: not used")
                return False
            self._tag(remote, local)
            return True
        finally:
            self._untag(remote)

    def _push(self, local: str, remote: str, key: str, say: Say, cancel: Event) -> bool:
        if not _is(self._engine.image(local), key):
            say(f"{local} is not there any more, and is not pushed")
            return False
        # A wrong image is replaced.
        if remote not in self._wrong and self._has(remote, cancel):
            return True
        self._tag(local, remote)
        try:
            send(
                self._engine,
                remote,
                timeout=self._patience.timeout,
                stall=self._patience.stall,
                cancel=cancel,
            )
        finally:
            self._untag(remote)
        self._wrong.discard(remote)
        say(f"pushed {remote}")
        return True

    def _has(self, remote: str, cancel: Event) -> bool:
        try:
            return ask(self._engine, remote, timeout=self._patience.answer, cancel=cancel) is not None
        except (AbsentError, RefusedError):
            # Some registries refuse to tell of a name that only the first push makes.
            return False

    def _platform(self) -> str:
        version: dict[str, Any] = self._engine.api.version()
        return f"{version['Os']}/{version['Arch']}"

    def _tag(self, image: str, name: str) -> None:
        repository, _, tag = name.rpartition(":")
        self._engine.api.tag(image, repository, tag)

    def _untag(self, remote: str) -> None:
        with suppress(*ENGINE_ERRORS):  # it never came to the tag, or the engine is gone
            self._engine.api.remove_image(remote)

    @contextmanager
    def _slot(self, cancel: Event) -> Iterator[None]:
        while not self._slots.acquire(timeout=_TICK):
            if cancel.is_set():
                raise RegistryError("cancelled")
        try:
            yield
        finally:
            self._slots.release()


class _Later:
    """A queue, and one thread that works it off; it starts with the first image."""

    def __init__(self, push: Callable[..., bool]) -> None:
        self._push = push
        self._waiting: queue.SimpleQueue[tuple[str, str, Say] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._open = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, local: str, key: str, say: Say) -> None:
        with self._changed:
            if self._stop.is_set():
                return
            self._open += 1
            self._waiting.put((local, key, say))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="registry-push", daemon=True)
                self._thread.start()

    def drain(self, cancel: Event, timeout: float | None) -> int:
        start = time.monotonic()
        with self._changed:
            while self._open and self._works() and not cancel.is_set():
                if timeout is not None and time.monotonic() - start > timeout:
                    break
                self._changed.wait(_TICK)
            return self._open

    def close(self) -> None:
        with self._changed:
            self._stop.set()
            self._waiting.put(None)
            thread = self._thread
        if thread is not None:
            thread.join()

    def _works(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            local, key, say = item
            try:
                self._push(local, key, say, cancel=self._stop)
            finally:
                with self._changed:
                    self._open -= 1
                    self._changed.notify_all()


def _is(image: dict[str, Any] | None, key: str) -> bool:
    """Tell whether an image says that it is ours, and the one of that key."""
    labels = (image or {}).get("Config", {}).get("Labels") or {}
    return labels.get(STEP_LABEL) == key and labels.get(TOOL_LABEL) == TOOL
