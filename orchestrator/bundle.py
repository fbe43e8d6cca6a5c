"""Everything that a run needs from outside, in one directory: for hosts without a network.

The directory is a project like any other, a matrix with its probes and Dockerfiles, whose store has the caches of
this host: locks, index pages, the runner, and below `cache/bundle` the wheels and the bases.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.execute.runner import prepare_runner
from orchestrator.files import write_atomic
from orchestrator.wheels.download import FetchError
from orchestrator.wheels.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from orchestrator.model import Distribution, Matrix
    from orchestrator.prospect import Prospect
    from orchestrator.workshop import Workshop

FORMAT = 1
STORE = ".orchestrator"
_MANIFEST = "bundle.json"


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
    """
    _check(target)
    cache = target / STORE / "cache"
    bundle = cache / "bundle"
    try:
        bundle.mkdir(parents=True, exist_ok=True)
        write_atomic(target / STORE / "CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55\n")
        _copy_project(shop.matrix, target)
        distinct = {d.wheel: d for one in seen.selected for d in one.lock.distributions}
        size = _copy_wheels(shop, distinct.values(), bundle / "wheels")
        for python, base in shop.bases(one.cell.python for one in seen.selected).items():
            shop.observer.phase(f"the base and the runner of Python {python}")
            shop.runtime.export(base, bundle / "bases", shop.matrix.limits, shop.cancel)
            source = prepare_runner(shop.store.root / "cache", python)
            shutil.copytree(source, cache / "runner" / source.name, dirs_exist_ok=True)
        _copy_caches(shop.store.root / "cache", cache)
        manifest = {
            "format": FORMAT,
            "cells": sorted(one.cell.id for one in seen.selected),
            "wheels": sorted(distinct),
        }
        # The manifest makes it a bundle: last, when all is there.
        write_atomic(bundle / _MANIFEST, json.dumps(manifest, indent=1).encode())
    except OSError as error:
        raise EnvironmentUnusableError(f"the bundle cannot be written: {error}") from None
    return Bundled(cells=len(seen.selected), wheels=len(distinct), size=size)


def _check(target: Path) -> None:
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and bundled(_cache(target)) is None)):
        if (target / STORE / "cache" / "bundle").is_dir():
            return  # begun before, and not ended
        raise ConfigError(f"{target} is not empty and no bundle", hint="name a directory that does not exist yet")


def _cache(target: Path) -> Path:
    return target / STORE / "cache"


def _copy_project(matrix: Matrix, target: Path) -> None:
    home = matrix.path.parent.resolve()
    for directory in (matrix.probes, matrix.images):
        if not directory.is_relative_to(home):
            raise ConfigError(
                f"{directory} lies outside of the matrix's directory",
                hint="a bundle holds the directory of the matrix: move the probes and Dockerfiles below it",
            )
        place = target / directory.relative_to(home)
        shutil.copytree(
            directory, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache")
        )
    shutil.copyfile(matrix.path, target / "matrix.yaml")


def _copy_wheels(shop: Workshop, wanted: Iterable[Distribution], place: Path) -> int:
    shelf = Shelf(place)
    size = 0
    for distribution in sorted(wanted, key=lambda d: d.wheel):
        try:
            source = shop.wheels.fetch(distribution, shop.cancel)
        except FetchError as error:
            raise EnvironmentUnusableError(str(error), hint="what was fetched is kept; try again") from None
        copy = shelf.place(distribution.sha256, source.name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file() or copy.stat().st_size != source.stat().st_size:
            _place(source, copy)
        size += copy.stat().st_size
    return size


def _place(source: Path, target: Path) -> None:
    """Put a file in its place at once or not at all: by a hard link on the same file system, else as a copy."""
    beside = target.with_name(f".{target.name}.{os.getpid()}")
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


def _copy_caches(source: Path, target: Path) -> None:
    """Copy what answers without an index: locks, pages, and which bases were found."""
    for pattern in ("locks/*.json", "index/*.json", "docker/bases.json"):
        for path in source.glob(pattern):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            _place(path, copy)
