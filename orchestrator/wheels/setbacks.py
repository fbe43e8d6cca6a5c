"""What goes wrong in one try of a download, in words that give nothing away."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from requests import Response

TRANSIENT = (408, 425, 429)
"""Statuses below 500 that a server may answer otherwise a moment later."""

_WORDS = (
    (("NameResolutionError", "Failed to resolve", "Name or service not known"), "its name does not resolve"),
    (("ConnectTimeout",), "it cannot be connected to in time"),
    (("timed out",), "the server has stalled"),
    (("refused",), "connection refused"),
    (("IncompleteRead", "InvalidChunkLength"), "the connection ended before the wheel did"),
)


class Setback(Exception):  # noqa: N818 - not an error yet: the next try may do
    """One try has failed. `after` are the seconds until the next, where it matters."""

    def __init__(self, reason: str, *, transient: bool = True, after: float | None = None) -> None:
        super().__init__(reason)
        self.transient = transient
        self.after = after


def answered(response: Response) -> str:
    """Return what a server answers, on one line."""
    # Of the reason phrase, which is the server's, only what is one plain short line.
    phrase = re.sub(r"[^A-Za-z0-9 '-]", "", response.reason or "")[:60]
    return f"the server answers {response.status_code} {phrase}".rstrip()


def retry_after(value: str | None) -> float | None:
    """Return for how many seconds a server asks to be left alone (a number or a date); None where it does not."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def of_error(error: Exception) -> Setback:
    """Say in own words what requests ran into: its texts hold whole URLs, with all that is secret in them."""
    from requests import exceptions  # noqa: PLC0415

    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return Setback("its certificate cannot be verified", transient=False)
    if isinstance(error, exceptions.ProxyError):
        denied = re.search(r"Tunnel connection failed: (\d{3})", text)
        reason = f"the proxy answers {denied[1]}" if denied else "the proxy did not answer as one"
        return Setback(reason, transient=denied is None or _may_pass(int(denied[1])))
    # All of them are ValueErrors too: what was asked for makes no sense.
    if isinstance(error, ValueError):
        return Setback("its URL or that of the proxy cannot be used", transient=False)
    if isinstance(error, exceptions.TooManyRedirects):
        return Setback("the server redirects in circles", transient=False)
    return Setback(
        next((words for signs, words in _WORDS if any(s in text for s in signs)), "the connection broke")
    )


def _may_pass(status: int) -> bool:
    return status in TRANSIENT or status >= 500  # noqa: PLR2004 - the server's own errors
