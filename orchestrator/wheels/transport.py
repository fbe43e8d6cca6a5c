"""HTTP connections that can be cut from another thread. Import it where it is used: requests takes a while."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import requests
from requests.adapters import HTTPAdapter

if TYPE_CHECKING:
    from collections.abc import Iterator

_TICK = 0.1


class _Adapter(HTTPAdapter):
    """Remembers the socket of every connection that it makes, through a proxy too."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        super().__init__()
        self._sockets = sockets

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        # On the pool, not on its class: other sessions of this process keep what they have.
        if "ConnectionCls" not in vars(pool):
            vars(pool)["ConnectionCls"] = _remembering(pool.ConnectionCls, self._sockets)
        return pool


def _remembering(kind: Any, sockets: list[socket.socket]) -> Any:  # noqa: ANN401 - whichever class the pool has
    class Remembering(kind):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            # Kept beyond the connection's own life: it lets go of a socket that a response still reads.
            sockets.append(self.sock)

    return Remembering


@contextmanager
def session(cancel: threading.Event) -> Iterator[requests.Session]:
    """Give a session whose connections break as soon as `cancel` is set, whatever they wait for.

    What is not interrupted is the connecting itself: it ends with its own timeout.
    """
    sockets: list[socket.socket] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_TICK):
            if cancel.is_set():
                for made in tuple(sockets):
                    with suppress(OSError):
                        made.shutdown(socket.SHUT_RDWR)

    watcher = threading.Thread(target=watch, name="wheel-cancel", daemon=True)
    watcher.start()
    try:
        with requests.Session() as made:
            made.mount("http://", _Adapter(sockets))
            made.mount("https://", _Adapter(sockets))
            yield made
    finally:
        done.set()
        watcher.join()
