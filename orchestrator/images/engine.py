"""The Docker engine: one bounded client per thread, always for the same endpoint."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from functools import cached_property
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from docker import APIClient
from docker.errors import DockerException, ImageNotFound
from docker.utils import kwargs_from_env
from urllib3.exceptions import HTTPError

from orchestrator.errors import EnvironmentUnusableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ENGINE_ERRORS = (DockerException, HTTPError, HTTPException, OSError)
"""What a call to the engine may raise: refusals, broken streams, and an engine that does not answer."""

PROBE_TIMEOUT = 4.0
CALL_TIMEOUT = 60.0
DEFAULT_ENDPOINT = "unix:///var/run/docker.sock"


def connect(timeout: float) -> APIClient:
    """Return a client for the engine that DOCKER_HOST names, else the local one; one of `ENGINE_ERRORS` if not.

    Docker's own contexts are passed over on purpose: the endpoint must not change between two calls of a run,
    and the command line client is told the same one.
    """
    _knock(timeout)
    try:
        return APIClient(version="auto", timeout=timeout, **kwargs_from_env())  # type: ignore[arg-type]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DockerException(f"it does not answer like an engine ({type(error).__name__}: {error})") from None


def _knock(timeout: float) -> None:
    """Fail at once where nobody listens; the library would leave its own socket open then."""
    scheme, _, path = endpoint().partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
            knock.settimeout(timeout)
            knock.connect(path)


def endpoint() -> str:
    """Return where `connect` connects to."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_ENDPOINT


def unreachable(clients: Callable[[float], APIClient] = connect) -> str | None:
    """Return why no engine answers within a few seconds, None where one does."""
    try:
        client = clients(PROBE_TIMEOUT)
    except ENGINE_ERRORS as error:
        return f"no Docker engine answers at {endpoint()}: {brief(error)}"
    client.close()
    return None


def tags(image: Mapping[str, Any]) -> list[str]:
    """Return the names of an image in the engine's list; Podman adds the registry that it takes ours for."""
    return [str(one).removeprefix("docker.io/") for one in image.get("RepoTags") or ()]


def brief(error: BaseException) -> str:
    """Return an engine error as one line, without the layers of wrapping around its cause."""
    explanation = getattr(error, "explanation", None)
    if explanation:
        return " ".join(str(explanation).split())
    seen = error
    while (inner := seen.__cause__ or seen.__context__) is not None and inner is not seen:
        seen = inner
    text = str(seen) or type(seen).__name__
    return " ".join(text.split())


class Engine:
    """The engine of one run. Clients are not safe to share, so every thread gets its own."""

    def __init__(self, clients: Callable[[float], APIClient] = connect) -> None:
        self._clients = clients
        self._local = threading.local()
        self._opened: list[APIClient] = []
        self._lock = threading.Lock()
        if reason := unreachable(clients):
            raise EnvironmentUnusableError(
                reason,
                hint="start Docker or set DOCKER_HOST (see `orchestrator doctor`); --runtime venv does without",
            )

    @property
    def api(self) -> APIClient:
        """The calling thread's client."""
        client: APIClient | None = getattr(self._local, "client", None)
        if client is None:
            client = self.client(CALL_TIMEOUT)
            self._local.client = client
        return client

    @cached_property
    def daemonless(self) -> bool:
        """Whether containers have no engine above them that could end with them, as those of Podman."""
        components = self.api.version().get("Components") or ()
        return any("Podman" in str(one.get("Name")) for one in components)

    @property
    def command(self) -> tuple[str, ...]:
        """The program for people that talks to this engine.

        `docker run` over Podman's interface ends with 0 whatever the container ends with: it has gone by then.
        """
        podman = self.daemonless and shutil.which("podman") is not None
        return ("podman", "--url", endpoint()) if podman else ("docker",)

    def image(self, name: str) -> dict[str, Any] | None:
        """Return what the engine knows of an image, None where it has none of that name."""
        try:
            found: dict[str, Any] = self.api.inspect_image(name)  # type: ignore[no-untyped-call]
        except ImageNotFound:
            return None
        return found

    def client(self, timeout: float) -> APIClient:
        """Return a client of its own, for a stream that may have to be cut off. `close` closes it too."""
        client = self._clients(timeout)
        with self._lock:
            self._opened.append(client)
        return client

    def release(self, client: APIClient) -> None:
        """Close a client that `client` gave."""
        client.close()
        with self._lock:
            self._opened.remove(client)

    def close(self) -> None:
        """Close every client."""
        with self._lock:
            opened, self._opened = self._opened, []
        for client in opened:
            client.close()
        self._local = threading.local()
