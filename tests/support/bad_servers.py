"""Servers for tests that answer in all the ways in which an index or a proxy should not."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator


@contextmanager
def server(script: object, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve every connection the same bytes, or give it to a function with an event for the end; gives a port."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(line: socket.socket) -> None:
        with suppress(OSError):
            line.settimeout(5)
            if tls is not None:
                line = tls.wrap_socket(line, server_side=True)
            if callable(script):
                script(line, over)
            else:
                line.recv(65536)
                line.sendall(script)
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)
        line.close()

    def accept() -> None:
        while not over.is_set():
            try:
                line, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(line,), daemon=True))
            threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join()
        for thread in threads:
            thread.join()


def answer(body: bytes, *, status: str = "200 OK", kind: str = "text/html", more: str = "") -> bytes:
    """Return a whole response."""
    fields = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}Connection: close\r\n"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n".encode("latin-1") + body


def silent(line: socket.socket, over: threading.Event) -> None:
    """Take the connection and say nothing."""
    over.wait()


def endless(line: socket.socket, over: threading.Event) -> None:
    """Send a page that never ends and lists nothing."""
    line.recv(65536)
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while not over.is_set():
        line.sendall(b"<p>more</p>" * 4096)


def trickling(line: socket.socket, over: threading.Event) -> None:
    """Send a page one byte after the other: no single wait is ever long."""
    line.recv(65536)
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
    while not over.wait(0.02):
        line.sendall(b" ")


def trickling_head(line: socket.socket, over: threading.Event) -> None:
    """Do the same with a header."""
    line.recv(65536)
    line.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not over.wait(0.02):
        line.sendall(b"a")


def bomb(line: socket.socket, over: threading.Event) -> None:
    """Send a page of nothing that is small on the line and 1 GB when it is unpacked."""
    import zlib

    packer = zlib.compressobj(9, wbits=31)
    line.recv(65536)
    line.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
    )
    for _ in range(64):
        line.sendall(packer.compress(b" " * (16 << 20)))
        if over.is_set():
            return
    line.sendall(packer.flush())
