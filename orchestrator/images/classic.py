"""Build through the Engine API: the builder that every engine has."""

from __future__ import annotations

import re
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, NotFound

from orchestrator.images.builder import STEP_LABEL, BuildError
from orchestrator.images.engine import ENGINE_ERRORS, brief
from orchestrator.images.stream import StreamStoppedError, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

    from docker import APIClient

    from orchestrator.images.builder import Build
    from orchestrator.images.engine import Engine

_RUNNING_IN = re.compile(r" ---> Running in ([0-9a-f]{12,64})")
_SETTLE = 10.0


class ClassicBuilder:
    """The builder inside the engine, as the API offers it."""

    name = "classic"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def build(self, build: Build, *, line: Callable[[str], None], timeout: float, cancel: Event) -> None:
        """Build and tag one image (see `Builder.build`)."""
        containers: list[str] = []
        done = False
        try:
            with build.context() as context:

                def call(client: APIClient) -> Iterator[Any]:
                    return client.build(
                        fileobj=context,
                        custom_context=True,
                        tag=build.tag,
                        buildargs=dict(build.arguments),
                        labels=dict(build.labels),
                        decode=True,
                        rm=True,
                        forcerm=True,
                        use_config_proxy=False,
                    )

                with closing(events(self._engine, call, timeout=timeout, cancel=cancel)) as stream:
                    for event in stream:
                        _follow(event, containers, line)
            done = True
        except StreamStoppedError as error:
            raise BuildError(f"the build was stopped: {error}", stopped=True) from error
        except ENGINE_ERRORS as error:
            raise BuildError(f"the engine gave up the build: {brief(error)}", transient=_lost(error)) from error
        finally:
            if not done:
                self._sweep(build.key, containers)

    def _sweep(self, key: str, containers: list[str]) -> None:
        """Remove what a failed build leaves: the engine removes its own containers late, its images never."""
        api = self._engine.api
        with suppress(*ENGINE_ERRORS):  # the engine itself may be what failed
            for container in containers[-1:]:
                _await_removal(api, container)
            while left := api.images(filters={"dangling": True, "label": f"{STEP_LABEL}={key}"}):
                for image in left:
                    api.remove_image(image["Id"])


def _follow(event: dict[str, Any], containers: list[str], line: Callable[[str], None]) -> None:
    if text := event.get("stream"):
        if found := _RUNNING_IN.search(text):
            containers.append(found.group(1))
        for part in text.splitlines():
            if part.strip():
                line(part)
    if error := event.get("error"):
        line(error)
        raise BuildError(str(event.get("errorDetail", {}).get("message") or error))


def _await_removal(api: APIClient, container: str) -> None:
    deadline = time.monotonic() + _SETTLE
    while time.monotonic() < deadline:
        try:
            api.inspect_container(container)
        except NotFound:
            return
        time.sleep(0.2)
    with suppress(NotFound):
        api.remove_container(container, v=True, force=True)


def _lost(error: BaseException) -> bool:
    # An answer with a status is the engine's word on the recipe; everything else is a broken line.
    return not isinstance(error, APIError) or error.is_server_error()
