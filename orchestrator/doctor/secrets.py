"""Credentials in URLs, and how they stay out of everything that is shown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.doctor.finding import Finding

HIDDEN = "***"
_IN_TEXT = re.compile(r"//[^\s/@]*(?:@[^\s/@]*)*@")
_SHORTEST = 4
"""Letters of a password that is looked for on its own: a shorter one is part of many words."""


def hide(url: str) -> str:
    """Return one URL with its credentials hidden, however they are written; with or without a scheme."""
    start, credentials, rest = _parts(url)
    return url if credentials is None else f"{start}{HIDDEN}@{rest}"


class Secrets:
    """The passwords of some URLs, to be kept out of any text, also of what other programs say of them."""

    def __init__(self, urls: Iterable[str]) -> None:
        words = set()
        for url in urls:
            _, credentials, _ = _parts(url)
            if credentials is not None:
                user, colon, password = credentials.partition(":")
                word = password if colon else user  # a token may stand alone
                words |= {credentials, unquote(credentials), word, unquote(word)}
        self._words = sorted((word for word in words if len(word) >= _SHORTEST), key=len, reverse=True)

    def scrub(self, text: str) -> str:
        """Return a text without these, and without what looks like credentials of any other URL."""
        for word in self._words:
            text = text.replace(word, HIDDEN)
        return _IN_TEXT.sub(f"//{HIDDEN}@", text)

    def scrubbed(self, finding: Finding) -> Finding:
        """Return a finding without them."""
        return replace(
            finding,
            summary=self.scrub(finding.summary),
            detail=self.scrub(finding.detail),
            hint=None if finding.hint is None else self.scrub(finding.hint),
        )


def _parts(url: str) -> tuple[str, str | None, str]:
    """Split into scheme, credentials and rest. With an @ in the path too much is hidden, never too little."""
    scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    start = f"{scheme}{separator}"
    credentials, at, rest = rest.rpartition("@")
    return start, credentials if at else None, rest
