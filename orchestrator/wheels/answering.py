"""One connection of an installer, and the answers on it."""

from __future__ import annotations

import re
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from orchestrator.wheels.download import FetchError
from orchestrator.wheels.naming import wheel_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.model import Distribution
    from orchestrator.wheels.cache import Reading, WheelCache
    from orchestrator.wheels.offer import Offer

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_PATH_LIMIT = 5


class Answering(BaseHTTPRequestHandler):
    """Answers GET and HEAD for the pages and wheels of the offers that there are at that moment."""

    protocol_version = "HTTP/1.1"
    timeout = 300  # seconds that a connection may be idle
    disable_nagle_algorithm = True

    def __init__(self, *arguments: Any, cache: WheelCache, offers: Mapping[str, Offer]) -> None:  # noqa: ANN401
        self._cache = cache
        self._offers = offers
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Answer with the content."""
        self._answer()

    def do_HEAD(self) -> None:
        """Answer as a GET is answered, without the content."""
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401
        """Keep quiet: an offer counts what came."""

    def _answer(self) -> None:
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # what follows is no request
        parts = self.path.partition("?")[0].split("/", _PATH_LIMIT)[1:]
        offer = self._offers.get(parts[0]) if parts else None
        if offer is None:
            self._say(HTTPStatus.NOT_FOUND, "nothing is offered here\n")
            return
        offer.asked()
        page, wheel = None, None
        match [unquote(part) for part in parts[1:]]:
            case ["simple", ""]:
                page = offer.listing()
            case ["simple", name, ""]:
                page = offer.project(name)
            case ["wheels", sha256, name]:
                wheel = offer.wheel(sha256, name)
        if wheel is not None:
            self._wheel(offer, wheel)
        elif page is not None:
            self._say(HTTPStatus.OK, page, kind="text/html; charset=utf-8")
        else:
            self._say(HTTPStatus.NOT_FOUND, "this build does not need that\n")

    def _wheel(self, offer: Offer, wheel: Distribution) -> None:
        name = wheel_name(wheel.url)
        begun = False
        try:
            if self.command == "HEAD" and wheel.size is not None and self._cache.path(wheel) is None:
                self._head(HTTPStatus.OK, wheel, wheel.size)
                return
            with self._cache.open(wheel, offer.ended) as reading:
                begun = True
                # Before the last byte goes out: with that byte the build may be over.
                offer.noted(name, None)
                self._content(wheel, reading)
        except FetchError as error:
            offer.noted(name, error)
            if begun:
                self.close_connection = True  # too late for a status: the end that comes too early says it
            else:
                status = HTTPStatus.BAD_GATEWAY if error.transient else HTTPStatus.NOT_FOUND
                self._say(status, f"{error.reason}\n")

    def _content(self, wheel: Distribution, reading: Reading) -> None:
        size = reading.size if reading.size is not None else wheel.size
        start, stop = 0, size
        span = self.headers.get("Range")
        if span is not None and size is not None and self.headers.get("If-Range", _etag(wheel)) == _etag(wheel):
            wanted = _wanted(span, size)
            if wanted is not None:
                start, stop = wanted
                if start >= size:
                    self.send_response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
                    self.send_header("Content-Range", f"bytes */{size}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self._head(HTTPStatus.PARTIAL_CONTENT, wheel, stop - start, f"bytes {start}-{stop - 1}/{size}")
                self._send(reading, start, stop)
                return
        self._head(HTTPStatus.OK, wheel, size)
        self._send(reading, start, stop)

    def _head(self, status: HTTPStatus, wheel: Distribution, length: int | None, span: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("ETag", _etag(wheel))
        self.send_header("Accept-Ranges", "bytes")
        if span is not None:
            self.send_header("Content-Range", span)
        if length is not None:
            self.send_header("Content-Length", str(length))
        elif self._chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Connection", "close")
        self.end_headers()

    @property
    def _chunked(self) -> bool:
        return self.request_version != "HTTP/1.0"

    def _send(self, reading: Reading, offset: int, stop: int | None) -> None:
        """Send from a file that may still grow, without a copy in this program's memory."""
        if self.command == "HEAD":
            return
        chunked = stop is None and self._chunked
        while stop is None or offset < stop:
            end = reading.available(offset)
            if end == offset:
                break
            end = end if stop is None else min(end, stop)
            if chunked:
                self.wfile.write(b"%x\r\n" % (end - offset))
            sent = self.connection.sendfile(reading.file, offset, end - offset)
            if chunked:
                self.wfile.write(b"\r\n")
                if sent < end - offset:  # the file has just begun again
                    self.close_connection = True
                    return
            offset += sent
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        elif stop is not None and offset < stop:
            self.close_connection = True

    def _say(self, status: HTTPStatus, text: str, *, kind: str = "text/plain; charset=utf-8") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _etag(wheel: Distribution) -> str:
    return f'"{wheel.sha256}"'


def _wanted(span: str, size: int) -> tuple[int, int] | None:
    """Return what a Range header asks for as (start, stop); None for what may be answered with everything."""
    match = _RANGE.fullmatch(span.strip())
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        length = int(match[2])
        return (max(0, size - length), size) if length else (size, size)
    start, stop = int(match[1]), min(int(match[2]) + 1, size) if match[2] else size
    return None if match[2] and int(match[2]) < start else (start, stop)
