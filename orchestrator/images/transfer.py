"""Single exchanges with a registry, through the engine: ask, fetch, send. No retries here."""

from __future__ import annotations

import re
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from docker.errors import APIError

from orchestrator.images.engine import ENGINE_ERRORS, brief
from orchestrator.images.stream import StreamStoppedError, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

    from docker import APIClient

    from orchestrator.images.engine import Engine

_REFUSED = re.compile(
    r"unauthori[sz]ed|denied|forbidden|unsupported|read.?only|authentication required|no basic auth credentials"
    r"|incorrect username|credentials store error|x509|certificate|gave HTTP response to HTTPS client"
    r"|HTTP 40[135]|status:? 40[135]",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(r"manifest unknown|name unknown|not known to registry|HTTP 404|status:? 404", re.IGNORECASE)
_NOT_FOUND = re.compile(r"not found|does not exist", re.IGNORECASE)
_WITHOUT_ROUTE = (404, 501)
_QUERY = re.compile(r"\?[^\s\"']+")
_USER = re.compile(r"://[^\s/@\"']+@")
_LONGEST = 300


class RegistryError(Exception):
    """An exchange did not work; the message says why, in one line without credentials. A retry may cure it."""


class AbsentError(RegistryError):
    """The registry answered that it has no such image."""


class RefusedError(RegistryError):
    """The registry answered that it will not, or the engine does not trust it: it would say so again."""


def ask(engine: Engine, image: str, *, timeout: float, cancel: Event) -> tuple[str, ...] | None:
    """Return the platforms (`linux/amd64`) of an image in its registry, None where the engine cannot ask.

    Raises:
        RegistryError: it is not there, or there was no answer within `timeout` seconds.
    """

    def call(client: APIClient) -> Iterator[Any]:
        yield client.inspect_distribution(image)  # type: ignore[no-untyped-call]

    try:
        with closing(events(engine, call, timeout=timeout, cancel=cancel)) as stream:
            found: dict[str, Any] = next(stream)
    except (StreamStoppedError, *ENGINE_ERRORS) as error:
        known = _REFUSED.search(brief(error)) or _UNKNOWN.search(brief(error))
        if isinstance(error, APIError) and error.status_code in _WITHOUT_ROUTE and not known:
            return None
        raise _error(error, image) from error
    platforms: list[dict[str, str]] = found.get("Platforms") or []
    return tuple(f"{platform.get('os')}/{platform.get('architecture')}" for platform in platforms)


def fetch(engine: Engine, image: str, *, timeout: float, stall: float, cancel: Event) -> None:
    """Pull an image.

    Raises:
        RegistryError: it did not arrive, or nothing moved for `stall` seconds.
    """
    name, _, tag = image.rpartition(":")

    def call(client: APIClient) -> Iterator[Any]:
        answer: Iterator[Any] = client.pull(name, tag=tag, stream=True, decode=True)
        return answer

    _follow(engine, call, image, timeout=timeout, stall=stall, cancel=cancel)


def send(engine: Engine, image: str, *, timeout: float, stall: float, cancel: Event) -> None:
    """Push an image. The registry keeps layers that arrived whole, also of a push that failed.

    Raises:
        RegistryError: it is not all there, or nothing moved for `stall` seconds.
    """
    name, _, tag = image.rpartition(":")

    def call(client: APIClient) -> Iterator[Any]:
        answer: Iterator[Any] = client.push(name, tag=tag, stream=True, decode=True)
        return answer

    try:
        _follow(engine, call, image, timeout=timeout, stall=stall, cancel=cancel)
    except AbsentError as error:  # there is no such place to write to
        raise RefusedError(str(error)) from error


def _follow(
    engine: Engine,
    call: Callable[[APIClient], Iterator[Any]],
    image: str,
    *,
    timeout: float,
    stall: float,
    cancel: Event,
) -> None:
    moved = time.monotonic()
    try:
        with closing(events(engine, call, timeout=timeout, stall=stall, cancel=cancel)) as stream:
            for event in stream:
                if error := event.get("error"):
                    raise _classified(str(error), image)
                # The engine tries again by itself for most of a minute, and tells every second that it waits.
                if not str(event.get("status", "")).startswith("Retrying in"):
                    moved = time.monotonic()
                elif time.monotonic() - moved > stall:
                    raise RegistryError(f"nothing moved for {stall:.0f} s")
    except (StreamStoppedError, *ENGINE_ERRORS) as error:
        raise _error(error, image) from error


def _error(error: BaseException, image: str) -> RegistryError:
    return RegistryError(str(error)) if isinstance(error, StreamStoppedError) else _classified(brief(error), image)


def _classified(said: str, image: str) -> RegistryError:
    # Signed locations of a registry's store are as good as a password.
    text = _USER.sub("://", _QUERY.sub("", " ".join(said.split())))[:_LONGEST]
    told = text.replace(image.partition("/")[0], "")
    if _REFUSED.search(told):
        return RefusedError(text)
    if _UNKNOWN.search(told) or _NOT_FOUND.search(told):
        return AbsentError(text)
    return RegistryError(text)
