"""Cells to locks: exact pins with hashes, as of the release date, in parallel, kept."""

from __future__ import annotations

import hashlib
import json
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.utils import canonicalize_name

from orchestrator.codec import from_json, to_json
from orchestrator.files import write_atomic
from orchestrator.model import DEFAULT_INDEX, Cell, Distribution, Lock, LockedCell, Matrix, Unresolvable
from orchestrator.resolve.pages import IndexUnreachableError, Pages, configured_index
from orchestrator.resolve.request import Request, Wanted, project, request
from orchestrator.resolve.uv import NoSolutionError, Wheel, compile_project
from orchestrator.versions import SpecifierSet, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GRACE = timedelta(days=14)
"""After the newest pinned release, what else may still be uploaded for a cell: its companions' own releases."""


class Resolver:
    """Resolves cells against the indexes of a matrix; what was resolved once is read from the cache.

    With `offline`, the cache is all there is.
    """

    def __init__(self, matrix: Matrix, cache: Path, *, refresh: bool = False, offline: bool = False) -> None:
        self._matrix = matrix
        self._cache = cache
        self._refresh = refresh
        self._offline = offline
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
            if not error.transient:
                write_atomic(path, json.dumps({"unresolvable": str(error)}).encode())
            return Unresolvable(cell=cell, reason=str(error), transient=error.transient)
        write_atomic(path, json.dumps({"lock": to_json(lock)}).encode())
        return LockedCell(cell=cell, lock=lock)

    def _lock(self, asked: Request) -> Lock:
        warnings: list[str] = []
        chosen = [(wanted, self._choose(wanted, warnings)) for wanted in asked.wanted]
        as_of = self._as_of(asked, chosen, warnings)
        urls = {index: self.pages.url(index) for index in self._matrix.indexes}
        chosen += self._helpers(asked, chosen, urls)

        def compiled(moment: datetime | None) -> tuple[Wheel, ...]:
            text = project(asked, chosen, urls, moment)
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

    def _as_of(self, asked: Request, chosen: Sequence[tuple[Wanted, str]], warnings: list[str]) -> datetime | None:
        if asked.resolution == "latest":
            return None
        if asked.resolution != "as-of-release":
            return datetime.fromisoformat(asked.resolution)
        uploads = [
            upload
            for wanted, index in chosen
            if wanted.exact and (upload := self._uploaded(wanted, index)) is not None
        ]
        if not uploads:
            warnings.append("resolved as of today: no index tells when the pinned releases were uploaded")
            return None
        # Whole days: the same cell asked for at different hours is the same request to the index.
        return datetime.combine((max(uploads) + GRACE).astimezone(UTC), time(), tzinfo=UTC)

    def _uploaded(self, wanted: Wanted, chosen: str) -> datetime | None:
        """Return when a pinned release came, from the index that serves it or else another that dates it."""
        specifier = SpecifierSet(wanted.specifier)
        public = SpecifierSet(f"=={Version(wanted.specifier.removeprefix('==')).public}")
        for index in dict.fromkeys((chosen, *wanted.candidates, DEFAULT_INDEX)):
            try:
                page = self.pages.page(index, wanted.distribution)
            except IndexUnreachableError:
                continue  # already a warning, if it was a candidate
            release = page.newest(specifier) or page.newest(public)
            if release is not None and release.uploaded is not None:
                return release.uploaded
        return None

    def _helpers(
        self, asked: Request, chosen: Sequence[tuple[Wanted, str]], urls: dict[str, str]
    ) -> list[tuple[Wanted, str]]:
        """Return the helpers that the closure needs, with their index.

        uv takes an explicit index for direct dependencies only, so the names in the closure are found first, with
        the indexes open to every name, and those with an index of their own are then asked for by name.
        """
        helpers: dict[str, tuple[Wanted, str]] = {
            canonicalize_name(helper.distribution): (helper, self._choose(helper, [])) for helper in asked.helpers
        }
        if not helpers:
            return []
        text = project(asked, [*chosen, *helpers.values()], urls, None, open_names=True)
        closure = compile_project(
            text, python=asked.python, platform=asked.platform, default_index=configured_index()
        )
        return [helpers[wheel.name] for wheel in closure if wheel.name in helpers]


@cache
def platform_tag() -> str:
    """Return the platform that cells are resolved for: this machine's, Linux with glibc 2.28 or later."""
    system, _, machine = sysconfig.get_platform().partition("-")
    machine = machine.rpartition("-")[2].replace("arm64", "aarch64")
    return f"{machine}-manylinux_2_28" if system == "linux" else f"{machine}-apple-darwin"


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
        return str(data["unresolvable"]) if "unresolvable" in data else from_json(Lock, data["lock"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return None  # written by another version of this program: resolve again
