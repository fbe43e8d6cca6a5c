"""A package index of this host's own, for builds that share its network: wheels come through the cache.

What a build may read is looked up by what it asks for, never found by a path: an unguessable token for the build,
then a name or a hash.
"""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self, cast

from orchestrator.wheels.answering import Answering
from orchestrator.wheels.offer import Offer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orchestrator.model import Distribution
    from orchestrator.wheels.cache import WheelCache

_ADDRESS = "127.0.0.1"


class WheelServer:
    """Serves the wheels of builds on the loopback interface between `start` and `close`, or in a `with`."""

    def __init__(self, cache: WheelCache) -> None:
        self._cache = cache
        self._guard = threading.Lock()
        self._offers: dict[str, Offer] = {}
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen on a free port.

        Raises:
            OSError: there is none.
        """
        self._server = _Server(self._cache, self._offers)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="wheels", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all offers and connections, and return when every thread is gone."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is None or thread is None:
            return
        with self._guard:
            offers = tuple(self._offers.values())
            self._offers.clear()
        for offer in offers:
            offer.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
        server.hang_up()
        self._cache.settle()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def offer(self, distributions: Iterable[Distribution]) -> Iterator[Offer]:
        """Serve these wheels, and no others, at `index_url` of what is given, until the `with` is left."""
        if self._server is None:
            raise RuntimeError("the server is not running")
        offer = Offer(distributions, f"http://{_ADDRESS}:{self._server.server_address[1]}")
        with self._guard:
            self._offers[offer.token] = offer
        try:
            yield offer
        finally:
            offer.ended.set()
            with self._guard:
                self._offers.pop(offer.token, None)


class _Server(socketserver.ThreadingTCPServer):
    """Knows its connections, so that none is left when it closes.

    Not the standard library's HTTPServer: that one asks the name service for this host's name when it starts.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128  # an installer opens dozens of connections at once

    def __init__(self, cache: WheelCache, offers: dict[str, Offer]) -> None:
        self._guard = threading.Lock()
        self._busy: dict[threading.Thread, socket.socket] = {}

        def answering(*arguments: Any) -> Answering:  # noqa: ANN401 - what socketserver gives
            return Answering(*arguments, cache=cache, offers=offers)

        super().__init__((_ADDRESS, 0), cast("type[socketserver.BaseRequestHandler]", answering))

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Answer on a thread of its own."""
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), name="wheels-answer", daemon=True
        )
        with self._guard:
            thread.start()
            alive = {other: connection for other, connection in self._busy.items() if other.is_alive()}
            self._busy = {**alive, thread: request}

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        """Close a connection."""
        with self._guard:  # never while hang_up uses it
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Say nothing: the connection ends, and that is what the installer reports."""

    def hang_up(self) -> None:
        """End all connections; returns when their threads are gone."""
        with self._guard:
            threads = tuple(self._busy)
            for connection in self._busy.values():
                with suppress(OSError):  # closed already
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
