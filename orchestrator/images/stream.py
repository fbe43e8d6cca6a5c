"""Read an endless answer of the engine without ever waiting endlessly."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docker.types import CancellableStream

from orchestrator.images.engine import ENGINE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from threading import Event

    from docker import APIClient
    from requests import Response

    from orchestrator.images.engine import Engine

_TICK = 0.2


class StreamStoppedError(Exception):
    """The answer was cut off by us: too slow, too long, or cancelled."""


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None = None


def events(
    engine: Engine,
    call: Callable[[APIClient], Iterator[Any]],
    *,
    timeout: float,
    stall: float | None = None,
    cancel: Event | None = None,
) -> Generator[Any]:
    """Yield what a streaming call answers; closing this iterator cuts the call off, and the engine notices.

    `stall` is how long nothing may come, `timeout` how long it may all take.

    Raises:
        StreamStoppedError: one of the two passed, or `cancel` was set.
    """
    client = engine.client(timeout)
    answers = tap(client)
    items: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def read() -> None:
        try:
            for item in call(client):
                items.put(item)
            items.put(_End())
        except Exception as error:  # noqa: BLE001 - raised again where the items are read
            items.put(_End(error))

    threading.Thread(target=read, name="engine-stream", daemon=True).start()
    try:
        yield from _until(items, timeout, stall, cancel)
    finally:
        for answer in answers:
            cut(answer)
        engine.release(client)


def _until(
    items: queue.SimpleQueue[Any], timeout: float, stall: float | None, cancel: Event | None
) -> Iterator[Any]:
    start = heard = time.monotonic()
    while True:
        try:
            item = items.get(timeout=_TICK)
        except queue.Empty:
            item = None
        now = time.monotonic()
        if isinstance(item, _End):
            if item.error is not None:
                raise item.error
            return
        if item is not None:
            heard = now
            yield item
        if cancel is not None and cancel.is_set():
            raise StreamStoppedError("cancelled")
        if now - start > timeout:
            raise StreamStoppedError(f"not done after {timeout:.0f} s")
        if stall is not None and now - heard > stall:
            raise StreamStoppedError(f"no answer for {stall:.0f} s")


def tap(client: APIClient) -> list[Response]:
    """Return a list in which the client's answers will be, for them to be cut."""
    answers: list[Response] = []
    client.hooks["response"].append(lambda response, **_: answers.append(response))
    return answers


def cut(answer: Response) -> None:
    """End an answer that may still be under way; one that has ended is fine."""
    # Closing alone would wait for the rest of the body; the socket has to be shut down first.
    with suppress(*ENGINE_ERRORS, AttributeError, TypeError):  # ended: there is no socket any more
        CancellableStream(iter(()), answer).close()
    answer.close()
