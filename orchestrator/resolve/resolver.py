"""Cells to locks: exact pins with hashes, as of the release date, in parallel, kept."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.utils import canonicalize_name

from orchestrator.codec import from_json, to_json
from orchestrator.errors import EnvironmentUnusableError, OrchestratorError
from orchestrator.files import write_atomic
from orchestrator.model import (
    DEFAULT_INDEX,
    FROM_GIT,
    Cell,
    Distribution,
    Lock,
    LockedCell,
    Matrix,
    Unresolvable,
)
from orchestrator.resolve.closure import needed_by_name
from orchestrator.resolve.pages import IndexUnreachableError, Pages, configured_index
from orchestrator.resolve.platform import platform_tag
from orchestrator.resolve.request import Request, Wanted, project, request
from orchestrator.resolve.uv import NoSolutionError, Wheel, compile_project
from orchestrator.sources import BuildError, BuildSettings, Built, build_wheel, nightly_date
from orchestrator.versions import SpecifierSet, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event

GRACE = timedelta(days=14)
"""After the newest pinned release, what else may still be uploaded for a cell: its companions' own releases."""


class Resolver:
    """Resolves cells against the indexes of a matrix; what was resolved once is read from the cache.

    With `offline`, the cache is all there is. `cancel` stops the builds of commits; indexes are waited for.
    """

    def __init__(
        self,
        matrix: Matrix,
        cache: Path,
        *,
        refresh: bool = False,
        offline: bool = False,
        cancel: Event | None = None,
    ) -> None:
        self._matrix = matrix
        self._cache = cache
        self._refresh = refresh
        self._offline = offline
        self._cancel = cancel
        self.pages = Pages(cache / "index", matrix.indexes, refresh=refresh, offline=offline)

    def resolve(
        self, cells: Sequence[Cell], done: Callable[[Cell], None] = lambda _cell: None
    ) -> tuple[LockedCell | Unresolvable, ...]:
        """Resolve cells in parallel, in the order given; `done` is told of each, from a worker thread."""

        def one(cell: Cell) -> LockedCell | Unresolvable:
            answer = self.resolve_one(cell)
            done(cell)
            return answer

        with ThreadPoolExecutor(max_workers=8, thread_name_prefix="resolve") as pool:
            return tuple(pool.map(one, cells))

    def resolve_one(self, cell: Cell) -> LockedCell | Unresolvable:
        """Resolve one cell, or say in the resolver's words why it cannot be."""
        asked = request(self._matrix, cell, platform_tag(), grace_days=GRACE.days)
        path = self._cache / "locks" / f"{asked.key[:32]}.json"
        kept = None if self._refresh else _kept(path)
        if isinstance(kept, Lock):
            return LockedCell(cell=cell, lock=kept)
        if isinstance(kept, str):
            return Unresolvable(cell=cell, reason=kept)
        if self._offline:
            return Unresolvable(cell=cell, reason="the bundle was written without this cell", transient=True)
        try:
            lock = self._lock(asked)
        except NoSolutionError as error:
            if error.lasting:
                write_atomic(path, json.dumps({"unresolvable": str(error)}).encode())
            return Unresolvable(cell=cell, reason=str(error), transient=error.transient)
        write_atomic(path, json.dumps({"lock": to_json(lock)}).encode())
        return LockedCell(cell=cell, lock=lock)

    def _lock(self, asked: Request) -> Lock:
        warnings: list[str] = []
        chosen = [(wanted, self._choose(wanted, warnings)) for wanted in asked.wanted]
        built = {
            wanted.package: self._built(asked, wanted) for wanted in asked.wanted if wanted.origin is not None
        }
        as_of = self._as_of(asked, chosen, built, warnings)
        urls = {index: self.pages.url(index) for index in self._matrix.indexes}
        wheels_of = {package: one.wheel for package, one in built.items()}
        helpers: dict[str, tuple[Wanted, str]] = {
            canonicalize_name(one.distribution): (one, self._choose(one, [])) for one in asked.helpers
        }
        chosen += needed_by_name(asked, chosen, helpers, urls=urls, built=wheels_of, pages=self.pages)

        def compiled(moment: datetime | None) -> tuple[Wheel, ...]:
            text = project(asked, chosen, urls, moment, built=wheels_of)
            return compile_project(
                text, python=asked.python, platform=asked.platform, default_index=configured_index()
            )

        try:
            wheels = compiled(as_of)
        except NoSolutionError as error:
            if as_of is None or not error.undated:
                raise
            # The date may have hidden everything because the index tells no dates; then say so and do without.
            wheels = compiled(None)
            warnings.append(f"resolved as of today: with {as_of:%Y-%m-%d} uv says: {error}")
            as_of = None
        index_of: dict[str, str] = {canonicalize_name(wanted.distribution): index for wanted, index in chosen}
        return Lock(
            python=asked.python,
            platform=asked.platform,
            as_of=as_of,
            distributions=tuple(_complete(wheel, index_of.get(wheel.name, DEFAULT_INDEX)) for wheel in wheels),
            warnings=tuple(warnings),
        )

    def _choose(self, wanted: Wanted, warnings: list[str]) -> str:
        """Return the first index that answers and has a fitting release; else the last that answers."""
        if wanted.origin is not None:
            return FROM_GIT
        specifier = SpecifierSet(wanted.specifier)
        answering = None
        silent: list[str] = []
        for index in wanted.candidates:
            try:
                page = self.pages.page(index, wanted.distribution)
            except IndexUnreachableError as error:
                silent.append(str(error))
                warnings += silent[-1:] if silent[-1] not in warnings else []
                continue
            answering = index
            if page.newest(specifier) is not None:
                return index
        if answering is None or silent:
            reason = f"no index that answers has {wanted.distribution}{wanted.specifier}: {'; '.join(silent)}"
            raise NoSolutionError(reason, transient=True, undated=False)
        return answering

    def _built(self, asked: Request, wanted: Wanted) -> Built:
        """Return the wheel of a commit, built where it has to be."""
        assert wanted.origin is not None  # noqa: S101 - asked for those only
        settings = BuildSettings(
            cache=self._cache,
            timeout=self._matrix.limits.build_timeout,
            grace=GRACE,
            default_index=configured_index(),
        )
        try:
            return build_wheel(
                self._matrix.packages[wanted.package],
                wanted.origin.sha,
                wanted.origin.version,
                asked.python,
                settings,
                cancel=self._cancel,
            )
        except BuildError as error:
            raise NoSolutionError(str(error), transient=error.transient, lasting=error.lasting) from None
        except OrchestratorError as error:
            transient = isinstance(error, EnvironmentUnusableError)
            raise NoSolutionError(str(error), transient=transient, lasting=False) from None

    def _as_of(
        self,
        asked: Request,
        chosen: Sequence[tuple[Wanted, str]],
        built: Mapping[str, Built],
        warnings: list[str],
    ) -> datetime | None:
        if asked.resolution == "latest":
            return None
        if asked.resolution != "as-of-release":
            return datetime.fromisoformat(asked.resolution)
        uploads = [
            upload
            for wanted, index in chosen
            if wanted.exact and (upload := self._uploaded(wanted, index)) is not None
        ]
        uploads += [one.committed for one in built.values()]
        if not uploads:
            warnings.append("resolved as of today: no index tells when the pinned releases were uploaded")
            return None
        # Whole days: the same cell asked for at different hours is the same request to the index.
        return datetime.combine((max(uploads) + GRACE).astimezone(UTC), time(), tzinfo=UTC)

    def _uploaded(self, wanted: Wanted, chosen: str) -> datetime | None:
        """Return when a pinned release came, from the index that serves it or else another that dates it.

        A nightly build that its own index does not date is dated by its version.
        """
        specifier = SpecifierSet(wanted.specifier)
        version = Version(wanted.specifier.removeprefix("=="))
        public = SpecifierSet(f"=={version.public}")
        elsewhere = () if wanted.nightly else (DEFAULT_INDEX,)
        for index in dict.fromkeys((chosen, *wanted.candidates, *elsewhere)):
            try:
                page = self.pages.page(index, wanted.distribution)
            except IndexUnreachableError:
                continue  # already a warning, if it was a candidate
            release = page.newest(specifier) or page.newest(public)
            if release is not None and release.uploaded is not None:
                return release.uploaded
        return nightly_date(version) if wanted.nightly else None


def _complete(wheel: Wheel, index: str) -> Distribution:
    size = wheel.size if wheel.size is not None else _size(wheel.url)
    return wheel.locked(index, sha256=wheel.sha256 or _hash(wheel.url), size=size)


@cache
def _size(url: str) -> int | None:
    """Return the size of a file, None where the server does not say; only estimates depend on it."""
    if urlsplit(url).scheme == "file":
        return Path(url2pathname(urlsplit(url).path)).stat().st_size
    import requests  # noqa: PLC0415

    try:
        response = requests.head(url, timeout=20, allow_redirects=True)
        return int(response.headers["content-length"]) if response.ok else None
    except (requests.RequestException, KeyError, ValueError):
        return None


@cache
def _hash(url: str) -> str:
    """Return the SHA-256 of a file that an index serves without one: what is locked is what was there today."""
    import requests  # noqa: PLC0415

    digest = hashlib.sha256()
    try:
        with requests.get(url, stream=True, timeout=60) as response:
            response.raise_for_status()
            for block in response.iter_content(1 << 20):
                digest.update(block)
    except requests.RequestException as error:
        reason = f"{url.rpartition('/')[2]} has no hash on its index and cannot be read: {error}"
        raise NoSolutionError(reason, transient=True, undated=False) from None
    return digest.hexdigest()


def _kept(path: Path) -> Lock | str | None:
    try:
        data = json.loads(path.read_bytes())
        if "unresolvable" in data:
            return str(data["unresolvable"])
        lock = from_json(Lock, data["lock"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return None  # written by another version of this program: resolve again
    return lock if all(_stands(one) for one in lock.distributions) else None


def _stands(distribution: Distribution) -> bool:
    """Tell whether a wheel that was built here is still here; what comes from an index always can be had again."""
    return distribution.index != FROM_GIT or Path(url2pathname(urlsplit(distribution.url).path)).is_file()
