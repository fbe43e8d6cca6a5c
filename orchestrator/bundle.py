"""Everything that a run needs from outside, in one directory: for hosts without a network.

The directory is a project like any other, a matrix with its probes and Dockerfiles, whose store has the caches of
this host: locks, index pages, the runner, and below `cache/bundle` the wheels and the bases.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from orchestrator.config import load
from orchestrator.errors import ConfigError, EnvironmentUnusableError, InterruptedRunError
from orchestrator.execute.port import StepFailedError
from orchestrator.execute.runner import prepare_runner
from orchestrator.files import tag_cache, write_atomic
from orchestrator.wheels.download import FetchError
from orchestrator.wheels.naming import wheel_name
from orchestrator.wheels.requirements import local_path
from orchestrator.wheels.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from orchestrator.model import Distribution, Matrix
    from orchestrator.prospect import Prospect
    from orchestrator.workshop import Workshop

FORMAT = 1
STORE = ".orchestrator"
_MANIFEST = "bundle.json"
_NOWHERE = "https://bundle.invalid/"
"""Where locks say that a wheel is from whose file only this host has; its hash finds it in the bundle."""

_CACHES = ("__pycache__", ".pytest_cache", STORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """What a bundle holds: cells, distinct wheels, and bytes of those."""

    cells: int
    wheels: int
    size: int


def bundled(cache: Path) -> Path | None:
    """Return the bundle in a store's cache, None where the store is none of a bundle's."""
    bundle = cache / "bundle"
    return bundle if (bundle / _MANIFEST).is_file() else None


def write_bundle(shop: Workshop, seen: Prospect, target: Path) -> Bundled:
    """Write a bundle of the selected cells to a directory; one that is there already is brought up to date.

    Raises:
        ConfigError: the directory holds something else, or the matrix uses files outside of its own directory.
        EnvironmentUnusableError: something could not be had or written.
        InterruptedRunError: the user stopped it; the same call goes on from there.
    """
    target = target.resolve()
    _check(target, shop.matrix)
    try:
        return _write(shop, seen, target)
    except (FetchError, StepFailedError) as error:
        if shop.cancel.is_set():
            hint = "what was written is kept; the same command goes on from there"
            raise InterruptedRunError("interrupted", hint=hint) from None
        raise EnvironmentUnusableError(str(error), hint="what was written is kept; try again") from None
    except OSError as error:
        raise EnvironmentUnusableError(f"the bundle cannot be written: {error}") from None


def _write(shop: Workshop, seen: Prospect, target: Path) -> Bundled:
    cache = _cache(target)
    bundle = cache / "bundle"
    bundle.mkdir(parents=True, exist_ok=True)
    # The manifest makes it a bundle: gone as long as one is brought up to date, written when all is there.
    (bundle / _MANIFEST).unlink(missing_ok=True)
    tag_cache(target / STORE)
    _copy_project(shop.matrix, target)
    distinct = {d.wheel: d for one in seen.selected for d in one.lock.installs}
    hashes = {d.sha256 for d in distinct.values()}
    size = _copy_wheels(shop, distinct.values(), bundle / "wheels")
    _drop((bundle / "wheels").glob("??/*/*"), lambda path: path.suffix == ".whl" and path.parent.name in hashes)
    bases = {base.digest: base for base in shop.bases(one.cell for one in seen.selected).values()}
    for base in bases.values():
        shop.observer.phase(f"the base and the runner of Python {base.python}")
        shop.runtime.export(base, bundle / "bases", shop.matrix.limits, shop.cancel)
        source = prepare_runner(shop.store.root / "cache", base.python)
        shutil.copytree(source, cache / "runner" / source.name, dirs_exist_ok=True)
    needed = set(bases)
    _drop((bundle / "bases").glob("*"), lambda path: path.suffix == ".tar" and path.stem in needed)
    _copy_locks(shop.store.root / "cache" / "locks", cache / "locks", hashes)
    _copy_caches(shop.store.root / "cache", cache)
    manifest = {
        "format": FORMAT,
        "cells": sorted(one.cell.id for one in seen.selected),
        "wheels": sorted(distinct),
    }
    write_atomic(bundle / _MANIFEST, json.dumps(manifest, indent=1).encode())
    return Bundled(cells=len(seen.selected), wheels=len(distinct), size=size)


def _check(target: Path, matrix: Matrix) -> None:
    """Refuse what must not be written to, and what would not be found again in the bundle."""
    home = matrix.path.parent.resolve()
    hint = "a bundle holds the directory of the matrix: move the probes and Dockerfiles below it"
    for directory in (matrix.probes, matrix.images):
        if not directory.is_relative_to(home):
            raise ConfigError(f"{directory} lies outside of the matrix's directory", hint=hint)
    hint = "name a directory that does not exist yet"
    if home.is_relative_to(target) or any(target.is_relative_to(d) for d in (matrix.probes, matrix.images)):
        raise ConfigError(f"{target} is where the matrix, its probes or its Dockerfiles are", hint=hint)
    # A bundle, or one that was begun and not ended.
    ours = (_cache(target) / "bundle").is_dir()
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not ours)):
        raise ConfigError(f"{target} is not empty and no bundle", hint=hint)


def _cache(target: Path) -> Path:
    return target / STORE / "cache"


def _copy_project(matrix: Matrix, target: Path) -> None:
    home = matrix.path.parent.resolve()
    places = {directory: target / directory.relative_to(home) for directory in (matrix.probes, matrix.images)}
    for place in places.values():
        _clear(place, keep=target / STORE)
    for directory, place in places.items():
        shutil.copytree(directory, place, dirs_exist_ok=True, ignore=_passed_over)
    shutil.copyfile(matrix.path, target / "matrix.yaml")
    try:
        written = load(target / "matrix.yaml")
    except ConfigError:
        written = None
    if written is None or {written.probes, written.images} != set(places.values()):
        raise ConfigError(
            "the matrix would not find its probes or its Dockerfiles in the bundle",
            hint="name them by relative paths, without symbolic links",
        )


def _clear(place: Path, *, keep: Path) -> None:
    """Remove what an earlier writing copied: what is gone from the project must not go on having effects."""
    for path in place.iterdir() if place.is_dir() else ():
        if path == keep:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _passed_over(directory: str, names: list[str]) -> set[str]:
    return {name for name in names if name in _CACHES or Path(directory, name, "CACHEDIR.TAG").is_file()}


def _copy_wheels(shop: Workshop, wanted: Iterable[Distribution], place: Path) -> int:
    shelf = Shelf(place)
    size = 0
    for distribution in sorted(wanted, key=lambda d: d.wheel):
        if shop.cancel.is_set():
            raise FetchError("cancelled", transient=True)
        own = local_path(distribution) is not None
        try:
            copy = shelf.place(distribution.sha256, wheel_name(distribution.url))
        except ValueError as error:
            raise FetchError(str(error), transient=False) from None
        if own and copy.is_file():
            size += copy.stat().st_size
            continue
        source = shop.wheels.fetch(distribution, shop.cancel)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if own:
            _copy_checked(source, copy, distribution.sha256)
        elif not copy.is_file() or copy.stat().st_size != source.stat().st_size:
            _place(source, copy)
        size += copy.stat().st_size
    return size


def _copy_checked(source: Path, target: Path, sha256: str) -> None:
    """Copy a file that others may change at any time."""
    beside = _beside(target)
    try:
        shutil.copyfile(source, beside)
        with beside.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise FetchError(f"{source} is not the file any more that was locked", transient=False)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _drop(paths: Iterable[Path], needed: Callable[[Path], bool]) -> None:
    """Remove the files that are not needed any more, and halves of some that a killed writing left."""
    for path in list(paths):
        if not needed(path):
            path.unlink()


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}")


def _place(source: Path, target: Path) -> None:
    """Put a file in its place at once or not at all: by a hard link on the same file system, else as a copy."""
    beside = _beside(target)
    try:
        with suppress(FileNotFoundError):
            beside.unlink()
        try:
            os.link(source, beside)
        except OSError:
            shutil.copyfile(source, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _copy_locks(source: Path, target: Path, hashes: Collection[str]) -> None:
    """Copy all locks: the plan is made over them. Files of this host are named by their hash only."""
    for path in source.glob("*.json"):
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # another version's: nobody reads it
            kept = json.loads(path.read_bytes())
            for one in kept.get("lock", {}).get("distributions", ()):
                if one["sha256"] in hashes and one["url"].startswith("file:"):
                    one["url"] = _NOWHERE + quote(wheel_name(one["url"]))
            write_atomic(target / path.name, json.dumps(kept).encode())


def _copy_caches(source: Path, target: Path) -> None:
    """Copy what answers without an index or an engine: pages, and which bases were found."""
    for pattern in ("index/*.json", "docker/bases.json", "docker/contents/*.json"):
        for path in source.glob(pattern):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            _place(path, copy)
