"""Build through the Engine API: the builder that every engine has."""

from __future__ import annotations

import re
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, NotFound

from orchestrator.images.builder import BuildError
from orchestrator.images.engine import ENGINE_ERRORS, brief
from orchestrator.images.labels import STEP_LABEL
from orchestrator.images.stream import StreamStoppedError, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

    from docker import APIClient

    from orchestrator.images.builder import Build
    from orchestrator.images.engine import Engine

_RUNNING_IN = re.compile(r"^ ---> Running in ([0-9a-f]{12,64})")
_SETTLE = 10.0
_FINISHING = 3.0
_PAUSE = 0.2


class ClassicBuilder:
    """The builder inside the engine, as the API offers it."""

    name = "classic"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def build(self, build: Build, *, line: Callable[[str], None], timeout: float, cancel: Event) -> None:
        """Build and tag one image (see `Builder.build`)."""
        output = _Output(line)
        finishing: float | None = 0.0
        try:
            with build.context() as context:

                def call(client: APIClient) -> Iterator[Any]:
                    return client.build(
                        fileobj=context,
                        custom_context=True,
                        tag=build.tag,
                        buildargs=dict(build.arguments),
                        labels=dict(build.labels),
                        network_mode=build.network,
                        decode=True,
                        rm=True,
                        forcerm=True,
                        use_config_proxy=False,
                    )

                with closing(events(self._engine, call, timeout=timeout, cancel=cancel)) as stream:
                    for event in stream:
                        output.take(event)
            output.finish()
            finishing = None
        except StreamStoppedError as error:
            finishing = _FINISHING
            raise BuildError(f"the build was stopped: {error}", stopped=True) from error
        except ENGINE_ERRORS as error:
            raise BuildError(f"the engine gave up the build: {brief(error)}", transient=_lost(error)) from error
        finally:
            if finishing is not None:
                self._sweep(build.key, output.containers, finishing=finishing)

    def _sweep(self, key: str, containers: list[str], *, finishing: float) -> None:
        """Remove what a failed build leaves: the engine removes its own containers late, its images never.

        `finishing` is how long the engine may still be at work on the instruction that was under way.
        """
        api = self._engine.api
        start = time.monotonic()
        left = True
        while (left and time.monotonic() < start + _SETTLE) or time.monotonic() < start + finishing:
            with suppress(*ENGINE_ERRORS):  # still in use, or the engine itself is what failed
                left = _remove_once(api, key, containers)
            time.sleep(_PAUSE)
        with suppress(*ENGINE_ERRORS):
            for container in containers[-1:] if left else ():
                api.remove_container(container, v=True, force=True)
            _remove_once(api, key, containers)


class _Output:
    """Puts the pieces that the engine sends together to lines, and notices what they tell."""

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line
        self._begun = ""
        self.containers: list[str] = []

    def take(self, event: dict[str, Any]) -> None:
        *whole, self._begun = (self._begun + event.get("stream", "")).split("\n")
        for text in whole:
            self._tell(text)
        if error := event.get("error"):
            self.finish()
            self._tell(error)
            raise BuildError(str(event.get("errorDetail", {}).get("message") or error))

    def finish(self) -> None:
        self._tell(self._begun)
        self._begun = ""

    def _tell(self, text: str) -> None:
        if found := _RUNNING_IN.search(text):
            self.containers.append(found.group(1))
        if text.strip():
            self._line(text.rstrip())


def _remove_once(api: APIClient, key: str, containers: list[str]) -> bool:
    """Remove the images that nothing holds any more; tell whether there is something left."""
    running = False
    for container in containers[-1:]:
        with suppress(NotFound):
            api.inspect_container(container)
            running = True
    filters = {"dangling": True, "label": f"{STEP_LABEL}={key}"}
    for image in api.images(filters=filters):
        api.remove_image(image["Id"])
    return running or bool(api.images(filters=filters))


def _lost(error: BaseException) -> bool:
    # An answer with a status is the engine's word on the recipe; everything else is a broken line.
    return not isinstance(error, APIError) or error.is_server_error()
