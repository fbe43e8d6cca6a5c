"""An HTTP server that holds files and misbehaves as told: what downloads are tested against."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import pytest


@dataclass
class Mood:
    """How one request is answered; as it is, properly."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Instead of the file."""
    cut: int | None = None
    """Bytes of the body after which the connection is closed, or halts where there is a gate."""
    gate: threading.Event | None = None
    """What the rest of the body waits for."""
    late: threading.Event | None = None
    """What the whole answer waits for."""
    ranges: bool = True
    announce: int | None = -1
    """The Content-Length to announce; -1 for the true one, None for none."""


@dataclass
class Asked:
    """One request as it came: where its range began, and how many bytes of a body were sent."""

    path: str
    range: str | None
    headers: Mapping[str, str]
    sent: int = 0


class Upstream:
    """Serves `files` by path; each request takes the next of the path's `moods`, if there is one."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.moods: dict[str, list[Mood]] = {}
        self.asked: list[Asked] = []
        self.guard = threading.Lock()
        self.over = threading.Event()

        class Handler(_Handler):
            upstream = self

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def put(self, path: str, content: bytes, *moods: Mood) -> str:
        """Publish a file and return its URL."""
        self.files[path] = content
        self.moods[path] = list(moods)
        return f"http://{self.address}{path}"

    @property
    def ranges(self) -> list[str | None]:
        return [asked.range for asked in self.asked]

    @property
    def sent(self) -> int:
        return sum(asked.sent for asked in self.asked)


def until(condition: Callable[[], object]) -> None:
    """Wait for what another thread is about to do."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never happens")


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream: Upstream
    timeout = 20

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def wait(self, gate: threading.Event) -> None:
        while not gate.wait(0.02) and not self.upstream.over.is_set():
            pass

    def do_GET(self) -> None:
        up = self.upstream
        asked = Asked(self.path, self.headers.get("Range"), dict(self.headers))
        with up.guard:
            up.asked.append(asked)
            moods = up.moods.get(self.path)
            mood = moods.pop(0) if moods else Mood()
        self.close_connection = True
        content = up.files.get(self.path)
        if mood.late is not None:
            self.wait(mood.late)
        if content is None or mood.status != 200:
            self.send_response(404 if content is None else mood.status)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            for name, value in mood.headers.items():
                self.send_header(name, value)
            self.end_headers()
            return
        body = content if mood.body is None else mood.body
        span = asked.range if mood.ranges else None
        if span is not None and self.headers.get("If-Range", mood.headers.get("ETag")) == mood.headers.get("ETag"):
            start = int(span.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.send_header("Connection", "close")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            body = body[start:]
        else:
            self.send_response(200)
        announced = len(body) if mood.announce == -1 else mood.announce
        if announced is not None:
            self.send_header("Content-Length", str(announced))
        for name, value in mood.headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        cut = len(body) if mood.cut is None else mood.cut
        self._send(body[:cut], asked)
        if mood.gate is not None:
            self.wait(mood.gate)
            self._send(body[cut:], asked)

    def _send(self, body: bytes, asked: Asked) -> None:
        try:
            for start in range(0, len(body), 65536):
                block = body[start : start + 65536]
                self.wfile.write(block)
                asked.sent += len(block)
        except OSError:
            self.connection.shutdown(socket.SHUT_RDWR)
