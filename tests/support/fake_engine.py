"""Engines for tests: one that answers what it was told, and sockets behind which nobody answers."""

from __future__ import annotations

import json
import re
import socket
import socketserver
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HANG = object()
"""As an answer: take the request and say nothing."""


def version(api: str = "1.41", **more: Any) -> dict[str, Any]:
    return {
        "Version": "20.10.24",
        "ApiVersion": api,
        "MinAPIVersion": "1.12",
        "Os": "linux",
        "Arch": "amd64",
        **more,
    }


def info(**more: Any) -> dict[str, Any]:
    now = datetime.now(UTC) + timedelta(seconds=more.pop("ahead", 0))
    return {
        "Driver": "overlay2",
        "CgroupDriver": "systemd",
        "CgroupVersion": "2",
        "MemoryLimit": True,
        "PidsLimit": True,
        "MemTotal": 64 * 10**9,
        "DockerRootDir": "/var/lib/nowhere",
        "SecurityOptions": ["name=seccomp,profile=default"],
        "SystemTime": now.strftime("%Y-%m-%dT%H:%M:%S.%f") + "123Z",
        "Runtimes": {"runc": {}},
        **more,
    }


def empty(**more: Any) -> dict[str, Any]:
    """Return the answers of an engine that has nothing and builds nothing."""
    asked = {"/images/json": [], "/containers/json": [], "/system/df": {}}
    return {"/version": version(), "/info": info(), **asked, **more}


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    answers: dict[str, Any]
    over: threading.Event

    def handle_error(self, *_: Any) -> None:
        """Say nothing: clients that go away are what is tested."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        path = re.sub(r"^/v[0-9.]+", "", self.path.partition("?")[0])
        answer = self.server.answers.get(path)
        if answer is HANG:
            self.server.over.wait()
            return
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        said = {"message": "no such thing"} if answer is None else answer
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(200 if answer is not None else 404)
        self.send_header("Connection", "close")
        self.close_connection = True
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def address_string(self) -> str:
        return "client"

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def fake_engine(path: Path, answers: dict[str, Any]) -> Iterator[str]:
    """Serve answers by path (without the API version) on a socket; gives its endpoint."""
    with _Server(str(path), _Handler) as server:
        server.answers, server.over = answers, threading.Event()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"unix://{path}"
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


@contextmanager
def silent_socket(path: Path) -> Iterator[str]:
    """Take connections and never answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(16)
        yield f"unix://{path}"


def dead_socket(path: Path) -> str:
    """Leave the socket of a daemon that has died."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
    return f"unix://{path}"
