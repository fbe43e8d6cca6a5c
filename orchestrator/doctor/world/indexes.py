"""Ask an index for a project, as the resolver does: the same variables name proxies and certificates."""

from __future__ import annotations

import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from orchestrator.doctor.indexes import IndexSeen, Reply
from orchestrator.doctor.secrets import hide
from orchestrator.resolve.pages import default_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from requests import Response, Session

    from orchestrator.doctor.scope import IndexAsked

PATIENCE = 5.0
"""Seconds for one index."""

_STEP = 4.0
_MOST = 256 * 1024
"""Bytes of a page that are read: enough to see that it lists files."""

_BLOCK = 16 * 1024
_REDIRECTS = 5
_TRIES = 3
"""Projects that are asked for, as long as the index says that it has none of that name."""

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
_FILE = re.compile(rb"\.(?:whl|tar\.gz|tgz|tar\.bz2|zip|egg)(?:[\"'#?<\s]|\.metadata)")
_ABSENT = (403, 404)
"""What static hosts answer for what is not there."""

_PROXY_STATUS = 407
_OK = 200
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    reply: Reply
    status: int | None = None
    reason: str = ""


def address(index: IndexAsked) -> str:
    """Return where an index is, without credentials."""
    return hide(index.url or default_index())


def look_at_index(index: IndexAsked, cancel: Event) -> IndexSeen:
    """Return what an index answers for the first of its projects that it has."""
    url = index.url or default_index()
    if url.lower().startswith("file:"):
        directory = Path(url2pathname(urlsplit(url).path))
        found = _Answer(reply=Reply.PAGE if directory.is_dir() else Reply.DIRECTORY)
        return _seen(index, url, index.projects[0], found)
    deadline = time.monotonic() + PATIENCE
    seen = None
    for project in index.projects[:_TRIES]:
        found = _ask(f"{url.rstrip('/')}/{project}/", deadline, cancel)
        seen = seen or _seen(index, url, project, found)
        if found.reply is not Reply.NO_PROJECT:
            return _seen(index, url, project, found)
        if cancel.is_set() or time.monotonic() > deadline:
            break
    if seen is None:
        raise ValueError(f"no project to ask index {index.name} for")
    return seen


def _seen(index: IndexAsked, url: str, project: str, found: _Answer) -> IndexSeen:
    return IndexSeen(
        name=index.name,
        url=hide(url),
        project=project,
        reply=found.reply,
        status=found.status,
        reason=found.reason[:_LONGEST],
        proxy=_proxy(url),
    )


def _proxy(url: str) -> str | None:
    from requests.utils import get_environ_proxies, select_proxy  # noqa: PLC0415 - takes a while to import

    try:
        found = select_proxy(url, get_environ_proxies(url))
    except ValueError:  # neither has an address that can be read
        return None
    return None if found is None else hide(found)


def _ask(url: str, deadline: float, cancel: Event) -> _Answer:
    import requests  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    with requests.Session() as session:
        session.max_redirects = _REDIRECTS
        try:
            return _read(session, url, deadline, cancel)
        except (requests.RequestException, HTTPError, OSError, ValueError, TypeError) as error:
            return _failure(error)


def _read(session: Session, url: str, deadline: float, cancel: Event) -> _Answer:
    step = min(_STEP, max(0.1, deadline - time.monotonic()))
    with session.get(url, headers={"Accept": _ACCEPT}, timeout=(step, step), stream=True) as response:
        if response.status_code in _ABSENT:
            return _Answer(reply=Reply.NO_PROJECT, status=response.status_code)
        if response.status_code != _OK:
            return _Answer(reply=Reply.STATUS, status=response.status_code)
        lists_files = _lists_files(response, deadline, cancel)
    return _Answer(reply=Reply.PAGE if lists_files else Reply.NO_PAGE, status=_OK)


def _lists_files(response: Response, deadline: float, cancel: Event) -> bool:
    """Tell whether the beginning of a page names a file of a project; reading goes no further than that."""
    taken, tail = 0, b""
    for block in response.iter_content(_BLOCK):
        if _FILE.search(tail + block):
            return True
        taken, tail = taken + len(block), block[-16:]
        if taken > _MOST:
            return False
        if cancel.is_set() or time.monotonic() > deadline:
            raise TimeoutError
    return False


def _failure(error: Exception) -> _Answer:
    """Tell a failure by its classes, the outer ones first; by words where the library has no class for it."""
    import requests  # noqa: PLC0415
    from urllib3 import exceptions as transport  # noqa: PLC0415

    text = str(error)
    if "certificate verify failed" in text.replace("_", " ").lower():
        return _Answer(reply=Reply.CERTIFICATE, reason=_certificate(text))
    if f" {_PROXY_STATUS} " in text:  # of a tunnel there is no response, only its first line
        return _Answer(reply=Reply.STATUS, status=_PROXY_STATUS)
    signs: tuple[tuple[Reply, tuple[type[BaseException], ...]], ...] = (
        (Reply.PROXY, (requests.exceptions.ProxyError, transport.ProxyError, requests.exceptions.InvalidProxyURL)),
        (Reply.TLS, (requests.exceptions.SSLError, transport.SSLError)),
        (Reply.NAME, (transport.NameResolutionError, socket.gaierror)),
        (Reply.REFUSED, (ConnectionRefusedError,)),
        (Reply.TIMEOUT, (requests.exceptions.Timeout, transport.TimeoutError, TimeoutError)),
    )
    chain = list(_causes(error))
    for reply, classes in signs:
        if any(isinstance(one, classes) for one in chain):
            return _Answer(reply=reply)
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return _Answer(reply=Reply.OTHER, reason=f"it redirects more than {_REDIRECTS} times")
    return _Answer(reply=Reply.OTHER, reason=f"{type(error).__name__}: {text}")


def _certificate(text: str) -> str:
    found = re.search(r"certificate verify failed: ([^(\"']{1,100})", text)
    return found[1].strip() if found else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that is below it, also what the libraries keep in `reason` and in arguments."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = [value for value in (*one.args, getattr(one, "reason", None)) if isinstance(value, BaseException)]
        waiting += [*inner, one.__cause__, one.__context__]
