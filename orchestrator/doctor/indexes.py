"""Judge whether the package indexes answer, and tell apart the ways in which they do not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING

from orchestrator.doctor.finding import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator


class Reply(StrEnum):
    """What came of asking an index for a project."""

    PAGE = "page"
    NO_PROJECT = "no project"
    NO_PAGE = "no page"
    STATUS = "status"
    NAME = "name"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    CERTIFICATE = "certificate"
    TLS = "tls"
    PROXY = "proxy"
    DIRECTORY = "directory"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSeen:
    """One index, as it answered for one project."""

    name: str
    url: str
    """Where it is, without credentials."""
    project: str
    reply: Reply
    status: int | None = None
    reason: str = ""
    proxy: str | None = None
    """The proxy that leads there, without credentials."""


def judge_index(seen: IndexSeen, *, default: bool) -> Iterator[Finding]:
    """Judge one index. A run passes over one that does not answer, so nothing stops for it."""
    yield _finding(seen, default=default)


def late_index(name: str, url: str, *, default: bool) -> Finding:
    """Return the finding on an index of which nothing was heard at all."""
    return _finding(IndexSeen(name=name, url=url, project="", reply=Reply.TIMEOUT), default=default)


def _finding(seen: IndexSeen, *, default: bool) -> Finding:
    identity, where = f"index.{seen.name}", f"index {seen.name} ({seen.url})"
    if seen.reply is Reply.PAGE:
        return Finding(id=identity, level=Level.OK, summary=f"{where} answers")
    if seen.reply is Reply.NO_PROJECT:
        return Finding(
            id=identity,
            level=Level.NOTE,
            summary=f"{where} answers, and has no {seen.project}",
            detail=seen.reason,
            hint="look at the address: it has to end where the names of projects begin, in /simple for PyPI",
        )
    return Finding(
        id=identity,
        level=Level.PROBLEM,
        summary=f"{where} {_wrong(seen)}",
        detail=seen.reason,
        hint=_hint(seen, default=default),
    )


def _wrong(seen: IndexSeen) -> str:
    via = f" {seen.proxy}" if seen.proxy else ""
    if seen.reply is Reply.STATUS:
        return f"answers with HTTP status {seen.status}{_phrase(seen.status)}"
    return {
        Reply.NO_PAGE: "answers with something that lists no files: a page of a proxy or of a login?",
        Reply.NAME: "cannot be found: its name does not resolve",
        Reply.REFUSED: "cannot be reached: nobody listens there, or a firewall refuses",
        Reply.TIMEOUT: "does not answer in time",
        Reply.CERTIFICATE: "shows a certificate that is not trusted here",
        Reply.TLS: "does not speak TLS as it should",
        Reply.PROXY: f"cannot be reached: the proxy{via} does not let us through",
        Reply.DIRECTORY: "is a directory that is not there",
    }.get(seen.reply, "cannot be asked")


def _phrase(status: int | None) -> str:
    try:
        return f" ({HTTPStatus(status or 0).phrase})"
    except ValueError:
        return ""


def _hint(seen: IndexSeen, *, default: bool) -> str:
    if seen.reply is Reply.STATUS:
        if seen.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED):
            who = "the proxy's URL" if seen.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED else "~/.netrc"
            return f"it wants credentials: put them into {who}"
        return "try again later: the trouble is on its side"
    name_it = (
        "UV_DEFAULT_INDEX names another default index" if default else "`indexes` of the matrix has its address"
    )
    direct = (
        "set HTTPS_PROXY if this host needs a proxy" if seen.proxy is None else f"see whether {seen.proxy} works"
    )
    return {
        Reply.NO_PAGE: f"open {seen.url} in a browser on this host",
        Reply.NAME: f"see whether DNS works; {direct}; {name_it}",
        Reply.REFUSED: f"{direct}; {name_it}",
        Reply.TIMEOUT: f"{direct}; {name_it}",
        Reply.CERTIFICATE: "set ORCHESTRATOR_CA_BUNDLE to a file that has the certificates of your proxy as well",
        Reply.TLS: "an address with https:// needs a server with TLS; a proxy may be in between",
        Reply.PROXY: "correct HTTPS_PROXY, or add the host to NO_PROXY",
        Reply.DIRECTORY: name_it,
    }.get(seen.reply, f"{direct}; {name_it}")


def judge_bundle() -> Iterator[Finding]:
    """Say that no index is asked."""
    yield Finding(
        id="index",
        level=Level.OK,
        summary="the store is that of a bundle: a run asks no index",
    )
