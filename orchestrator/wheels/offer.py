"""The wheels of one build, as an index that only knows them."""

from __future__ import annotations

import html
import secrets
import threading
from typing import TYPE_CHECKING
from urllib.parse import quote

from packaging.utils import canonicalize_name

from orchestrator.wheels.download import FetchError
from orchestrator.wheels.naming import checked_sha256, described, wheel_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orchestrator.model import Distribution


class Offer:
    """What one build may ask for, and how its asking went.

    `ended` is set when the build is over: whoever still reads is cut off. A distribution whose URL names no wheel
    is among the errors from the start.
    """

    def __init__(self, distributions: Iterable[Distribution], address: str) -> None:
        self.token = secrets.token_urlsafe(18)
        self.index_url = f"{address}/{self.token}/simple/"
        self.ended = threading.Event()
        self._guard = threading.Lock()
        self._requests = 0
        self._errors: dict[str, FetchError] = {}
        self._wheels: dict[tuple[str, str], Distribution] = {}
        self._names: dict[str, list[tuple[str, str]]] = {}
        for distribution in distributions:
            try:
                key = checked_sha256(distribution.sha256), wheel_name(distribution.url)
            except ValueError as error:
                name = distribution.name
                self._errors[name] = FetchError(f"{described(distribution.url)}: {error}", transient=False)
                continue
            self._wheels[key] = distribution
            self._names.setdefault(canonicalize_name(distribution.name), []).append(key)

    @property
    def requests(self) -> int:
        """How many requests came; none means that the build could not reach this host."""
        with self._guard:
            return self._requests

    @property
    def errors(self) -> Mapping[str, FetchError]:
        """File name to why it could not be had at last (the name of the distribution where it names no wheel)."""
        with self._guard:
            return dict(self._errors)

    def asked(self) -> None:
        """Count a request."""
        with self._guard:
            self._requests += 1

    def noted(self, name: str, error: FetchError | None) -> None:
        """Keep why a wheel could not be had; None where it could after all."""
        with self._guard:
            if error is None:
                self._errors.pop(name, None)
            elif not self.ended.is_set():
                self._errors[name] = error

    def wheel(self, sha256: str, name: str) -> Distribution | None:
        """Return the wheel of that hash and file name, if it is one of them."""
        return self._wheels.get((sha256, name))

    def listing(self) -> str:
        """Return the page with all names (PEP 503)."""
        return _page(f'<a href="/{self.token}/simple/{name}/">{name}</a>' for name in sorted(self._names))

    def project(self, name: str) -> str | None:
        """Return the page of one name; None where nothing of that name is offered."""
        keys = self._names.get(canonicalize_name(name))
        if keys is None:
            return None
        return _page(
            f'<a href="/{self.token}/wheels/{sha256}/{quote(file)}#sha256={sha256}">{html.escape(file)}</a>'
            for sha256, file in keys
        )


def _page(links: Iterable[str]) -> str:
    head = '<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.0"></head><body>\n'
    return head + "".join(f"{link}<br>\n" for link in links) + "</body></html>\n"
