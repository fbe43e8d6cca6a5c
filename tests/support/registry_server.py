"""Registries for tests: a real one, a line to it that breaks, and ones that refuse or never answer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import pytest

_BINARY = shutil.which("docker-registry") or "/usr/bin/docker-registry"
_CONFIG = """
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {storage}}}
  maintenance:
    uploadpurging: {{enabled: false}}
    readonly: {{enabled: {readonly}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


def need_registry() -> None:
    """Skip where Debian's docker-registry is not installed, but never where the CI says that all must run."""
    if Path(_BINARY).exists():
        return
    if os.environ.get("ORCHESTRATOR_REQUIRE_ENGINE"):
        pytest.fail("docker-registry is not installed")
    pytest.skip("docker-registry is not installed")


class RegistryServer:
    """A registry process on a port of its own; it can be killed and started again with what it held."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"

    def start(self, *, readonly: bool = False) -> Self:
        config = self._directory / "config.yml"
        text = _CONFIG.format(storage=self._directory / "storage", port=self.port, readonly=str(readonly).lower())
        config.write_text(text, encoding="utf-8")
        self._process = subprocess.Popen([_BINARY, "serve", config], stderr=subprocess.DEVNULL)
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return self
            time.sleep(0.05)
        self.kill()
        pytest.fail("docker-registry does not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Line:
    """A TCP proxy in front of a registry: counts what goes through, and breaks after a number of bytes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._guard = threading.Lock()
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.bytes = 0
        self.cuts = 0
        """How many connections are still to be broken."""
        self.after = 0
        """The bytes that pass through a connection before it is."""
        self.broken = 0
        self.moving = threading.Event()
        """Set when a connection has carried more than a megabyte."""
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        stop_accepting(self._listener, self._accepting)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._port))
                except OSError:
                    near.close()
                    continue
                carried = [0]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(*pair, carried), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, carried: list[int]) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                carried[0] += len(data)
                if carried[0] > 1_000_000:
                    self.moving.set()
                with self._guard:
                    self.bytes += len(data)
                    broken = self.cuts > 0 and carried[0] > self.after
                    if broken:
                        self.cuts -= 1
                        self.broken += 1
                if broken:
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Refusing:
    """Answers the first question of the protocol, and everything else with one status; manifests with another."""

    def __init__(self, status: int, body: str = "", *, manifests: int | None = None) -> None:
        seen = self.requests = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                if self.path != "/v2/":
                    seen.append(f"{self.command} {self.path}")
                code = 200 if self.path == "/v2/" else status
                if manifests is not None and "/manifests/" in self.path:
                    code = manifests
                self.send_response(code)
                if code == 401:
                    self.send_header("WWW-Authenticate", 'Basic realm="test"')
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body.encode())

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = answer  # noqa: N815 - the library's names

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Silent:
    """Takes connections and requests and never answers, except that it is a registry if so wanted."""

    def __init__(self, *, greets: bool) -> None:
        self._greets = greets
        self._held: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked = threading.Event()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._held.append(near)
                threading.Thread(target=self._listen, args=(near,), daemon=True).start()

    def _listen(self, near: socket.socket) -> None:
        with suppress(OSError):
            request = near.recv(65536)
            if self._greets and request.startswith(b"GET /v2/ "):
                near.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                near.shutdown(socket.SHUT_WR)
            else:
                # An offer of TLS is no question yet: the engine tries again without.
                self.asked.set()

    def close(self) -> None:
        stop_accepting(self._listener, self._accepting)
        for near in self._held:
            near.close()


def stop_accepting(listener: socket.socket, accepting: threading.Thread) -> None:
    """End a thread that accepts connections, and close what it listens on."""
    # Closing alone would not wake the thread.
    listener.shutdown(socket.SHUT_RDWR)
    accepting.join()
    listener.close()


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
