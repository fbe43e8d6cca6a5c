"""What an index says of a project: its releases, when they were uploaded, and what was yanked."""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.utils import canonicalize_name

from orchestrator.codec import from_json, to_json
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.files import write_atomic
from orchestrator.model import DEFAULT_INDEX, Moment, digest
from orchestrator.versions import SpecifierSet, Version, allows, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pypi_simple import DistributionPackage

_CONNECT_TIMEOUT = 10.0
_READ_TIMEOUT = 60.0
_FRESH = timedelta(days=1)
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"


class IndexUnreachableError(Exception):
    """An index did not answer; the message names it and says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One version of a project; `uploaded` is when its first file came, None where the index does not say.

    `wheels` are the tags of its wheels (`cp311-cp311-linux_x86_64`), None on a page that an earlier version of
    this program has kept.
    """

    version: Version
    uploaded: Moment | None
    yanked: bool
    wheels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All releases of a project on one index, ascending, and when the index was asked."""

    index: str
    project: str
    read: Moment
    releases: tuple[Release, ...]

    def newest(self, specifier: SpecifierSet) -> Release | None:
        """Return the newest release that meets a specifier; yanked ones only where no other does."""
        fitting = [release for release in self.releases if allows(specifier, release.version)]
        return max(fitting, key=lambda release: (not release.yanked, release.version), default=None)


class Pages:
    """Project pages of the indexes of a matrix, read once a day and kept in a directory.

    An index that did not answer is not asked again by this object. With `offline`, no index is asked at all: what
    is kept never gets old. Safe to use from several threads.
    """

    def __init__(
        self, cache: Path, indexes: Mapping[str, str], *, refresh: bool = False, offline: bool = False
    ) -> None:
        self._cache = cache
        self._indexes = indexes
        self._refresh = refresh
        self._offline = offline
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._pages: dict[str, Page] = {}
        self._unreachable: dict[str, str] = {}

    def url(self, index: str) -> str:
        """Return the address of an index by its name in the matrix."""
        return default_index() if index == DEFAULT_INDEX else self._indexes[index]

    @property
    def unreachable(self) -> Mapping[str, str]:
        """Index name to why it could not be read, of those that were asked."""
        return dict(self._unreachable)

    def page(self, index: str, project: str) -> Page:
        """Return a project's page; a project the index does not have has no releases.

        Raises:
            IndexUnreachableError: the index did not answer or is not to be asked, and no earlier answer is kept.
        """
        project = canonicalize_name(project)
        key = digest([self.url(index), project])
        with self._guard:
            lock = self._locks.setdefault(index, threading.Lock())
        with lock:
            if key not in self._pages:
                self._pages[key] = self._read(index, project, self._cache / f"{key[:32]}.json")
            return self._pages[key]

    def offered(self, candidates: Sequence[str], project: str) -> tuple[Release, ...]:
        """Return the releases of a project on the first candidate that answers and has it.

        Raises:
            EnvironmentUnusableError: no candidate answered; the message says how each failed.
        """
        failures = []
        for index in candidates:
            try:
                releases = self.page(index, project).releases
            except IndexUnreachableError as error:
                failures.append(str(error))
                continue
            if releases:
                return releases
        if failures:
            hint = "list the versions in the matrix, or run where the index can be reached"
            raise EnvironmentUnusableError(
                f"the versions of {project} are not known: {'; '.join(failures)}", hint=hint
            )
        return ()

    def _read(self, index: str, project: str, path: Path) -> Page:
        kept = _kept(path)
        if self._offline:
            if kept is None and (kept := self._of_another_host(index, project)) is None:
                raise IndexUnreachableError(f"what index {index} has of {project} is not in the bundle")
            return kept
        if kept is not None and datetime.now(UTC) - kept.read < _FRESH and not self._refresh:
            return kept
        try:
            page = self._fetch(index, project)
        except IndexUnreachableError as error:
            self._unreachable[index] = str(error)
            if kept is not None:
                return kept
            raise
        write_atomic(path, json.dumps(to_json(page)).encode())
        return page

    def _of_another_host(self, index: str, project: str) -> Page | None:
        """Return the newest page of that index and project, whatever the index's address was on the other host."""
        kept = (_kept(path) for path in self._cache.glob("*.json"))
        pages = (page for page in kept if page is not None and (page.index, page.project) == (index, project))
        return max(pages, key=lambda page: page.read, default=None)

    def _fetch(self, index: str, project: str) -> Page:
        if index in self._unreachable:
            raise IndexUnreachableError(self._unreachable[index])
        return fetch_page(index, self.url(index), project)


def default_index() -> str:
    """Return the index that uv and pip use on this host when told nothing."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT  # noqa: PLC0415 - requests takes a while to import

    return configured_index() or PYPI_SIMPLE_ENDPOINT


def configured_index() -> str | None:
    """Return the default index that the host's environment names, for uv or for pip."""
    names = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
    return next((value for name in names if (value := os.environ.get(name))), None)


def fetch_page(index: str, url: str, project: str) -> Page:
    """Ask an index for a project (PEP 503 and 691, `file:` directories included).

    Raises:
        IndexUnreachableError: it did not answer, or with what is no project page.
    """
    base = url.rstrip("/") + f"/{project}/"
    files = _files_of_directory(base) if urlsplit(url).scheme == "file" else _files_of_server(index, base)
    return Page(index=index, project=project, read=datetime.now(UTC), releases=_releases(files))


def _files_of_directory(url: str) -> list[DistributionPackage]:
    page = Path(url2pathname(urlsplit(url).path)) / "index.html"
    return _files_of_html(page.read_text(encoding="utf-8"), url) if page.is_file() else []


def _files_of_server(index: str, url: str) -> list[DistributionPackage]:
    import requests  # noqa: PLC0415 - takes a while to import
    from pypi_simple import PyPISimple  # noqa: PLC0415

    try:
        with PyPISimple() as client:
            response = client.s.get(url, headers={"Accept": _ACCEPT}, timeout=(_CONNECT_TIMEOUT, _READ_TIMEOUT))
        if response.status_code in (403, 404):  # static hosts answer 403 for what is not there
            return []
        response.raise_for_status()
        if "json" in response.headers.get("content-type", ""):
            from pypi_simple import ProjectPage  # noqa: PLC0415

            return list(ProjectPage.from_json_data(response.json(), url).packages)
        return _files_of_html(response.text, url)
    except (requests.RequestException, ValueError) as error:
        reason = _reason(error)
        raise IndexUnreachableError(f"index {index} ({_public(url)}) did not answer: {reason}") from None


def _files_of_html(text: str, url: str) -> list[DistributionPackage]:
    from pypi_simple import DistributionPackage, RepositoryPage  # noqa: PLC0415

    files = []
    for link in RepositoryPage.from_html(text, base_url=url).links:
        file = DistributionPackage.from_link(link)
        uploaded = link.get_str_attrib("data-upload-time")  # what mirrors add to PEP 503 pages
        files.append(replace(file, upload_time=_moment(uploaded) if uploaded else None))
    return files


def _releases(files: Iterable[DistributionPackage]) -> tuple[Release, ...]:
    releases: dict[Version, list[DistributionPackage]] = {}
    for file in files:
        try:
            version = parse_version(file.version or "")
        except ValueError:
            continue  # names from before PEP 440; nobody can ask for them
        releases.setdefault(version, []).append(file)
    return tuple(
        Release(
            version=version,
            uploaded=min((f.upload_time for f in of_version if f.upload_time), default=None),
            yanked=all(f.is_yanked for f in of_version),
            wheels=tuple(sorted({tag for f in of_version if (tag := _tag(f)) is not None})),
        )
        for version, of_version in sorted(releases.items())
    )


def _tag(file: DistributionPackage) -> str | None:
    """Return the tags of a wheel as its name has them; None for any other file, and for one that is withdrawn."""
    if file.package_type != "wheel" or file.is_yanked:
        return None
    return "-".join(file.filename.removesuffix(".whl").rsplit("-", 3)[1:])


def _kept(path: Path) -> Page | None:
    try:
        return from_json(Page, json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except ValueError:
        return None  # written by another version of this program: read the index again


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _reason(error: Exception) -> str:
    text = str(error)
    for sign, words in (
        ("NameResolutionError", "its name does not resolve"),
        ("CERTIFICATE_VERIFY_FAILED", "its certificate cannot be verified"),
        ("timed out", "timed out"),
        ("refused", "connection refused"),
    ):
        if sign in text:
            return words
    return re.sub(r"//[^/@\s]+@", "//", text)[:200]


def _public(url: str) -> str:
    """Return a URL without credentials."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
