"""Stacks to cells: the product of the axes, tied by the companion rules, with a reason for every cell left out."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.matrix.axes import AxisVersions, named_versions
from orchestrator.model import Cell, Companion, Stack, digest
from orchestrator.versions import SpecifierSet, Version, allows, exactly, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orchestrator.model import Matrix

MAX_CELLS = 100_000


def expand(matrix: Matrix, versions: AxisVersions | None = None) -> tuple[Cell, ...]:
    """Return every cell of every stack, in the order of the file; `versions` are those of the ranges.

    Excluded cells are there too, with the reason.

    Raises:
        ValueError: the product of the axes of one stack has more than `MAX_CELLS` cells.
    """
    return tuple(cell for stack in matrix.stacks.values() for cell in _stack_cells(stack, versions or {}))


def _stack_cells(stack: Stack, versions: AxisVersions) -> Iterator[Cell]:
    axes = {axis.package: named_versions(stack, axis, versions) for axis in stack.axes}
    total = len(stack.python)
    for choices in axes.values():
        total *= len(choices)
    if total > MAX_CELLS:
        raise ValueError(f"stack {stack.name} has {total} cells, more than {MAX_CELLS}")
    rows: list[tuple[str, dict[str, Version]]] = [
        (python, dict(zip(axes, chosen, strict=True)))
        for python in stack.python
        for chosen in itertools.product(*axes.values())
    ]
    for entry in stack.include:
        row = (entry["python"], {name: parse_version(entry[name]) for name in axes})
        if row not in rows:
            rows.append(row)
    rows.sort(key=lambda row: (Version(row[0]), *row[1].values()))
    seen: set[str] = set()
    for python, row_versions in rows:
        cell = _cell(stack, python, row_versions)
        if cell.id in seen:  # two local labels may read alike once "+" is gone
            cell = _renamed(cell)
        seen.add(cell.id)
        yield cell


def cell_at(
    stack: Stack,
    python: str,
    versions: Mapping[str, Version],
    *,
    before: Mapping[str, Version] | None = None,
    commits: Mapping[str, str] | None = None,
) -> Cell:
    """Return the cell of a stack at any versions of its axes, nightly builds and commits among them.

    `versions` has one for every axis; `commits` says of which commit a package is built, by its full hash.
    `before` gives, for axes at a version between two releases, the newer of the two; without it, that is the
    version without its development number and label. Where a companion's rules name nothing for the version
    itself, the companion is what the newer release requires; an exclusion of the newer release holds as well.

    Raises:
        ValueError: an axis has no version, or a package that is no axis has one.
    """
    names = tuple(axis.package for axis in stack.axes)
    if versions.keys() != set(names) or not (commits or {}).keys() <= set(names):
        raise ValueError(f"stack {stack.name} needs a version for each of {', '.join(names)} and no other package")
    ordered = {name: versions[name] for name in names}
    newer = {name: (before or {}).get(name) or _next_release(version) for name, version in ordered.items()}
    cell = _cell(stack, python, ordered, newer)
    # What is built of a commit is in no image.
    return replace(cell, commits=dict(commits or {}), prebuilt=None if commits else cell.prebuilt)


def _next_release(version: Version) -> Version:
    """Return the version that a development build leads up to; any other version as it is."""
    return version if version.dev is None else Version(re.sub(r"\.dev[0-9]+$", "", version.public))


def _cell(
    stack: Stack, python: str, versions: Mapping[str, Version], newer: Mapping[str, Version] | None = None
) -> Cell:
    newer = versions if newer is None else newer
    requires = {name: exactly(version) for name, version in versions.items()}
    excluded = _exclusion(stack, python, versions) or _exclusion(stack, python, newer)
    for companion in stack.companions:
        required = companion_requirement(companion, versions[companion.follows])
        if required is None:
            required = companion_requirement(companion, newer[companion.follows])
        if required is None:
            excluded = excluded or (
                f"no {companion.package} is paired with {companion.follows} {versions[companion.follows]}"
            )
        else:
            requires[companion.package] = required
    return Cell(
        id=cell_id(stack.name, python, versions),
        stack=stack.name,
        device=stack.device,
        python=python,
        versions=versions,
        requires=requires,
        requirements=stack.requirements,
        excluded=excluded,
        prebuilt=_prebuilt(stack, python, versions),
    )


def companion_requirement(companion: Companion, followed: Version) -> SpecifierSet | None:
    """Return what a followed version requires of its companion; None where the rules name nothing."""
    for specifier, required in companion.rules:
        if allows(specifier, followed):
            return required
    if companion.same_minor:
        return SpecifierSet(f"=={followed.major}.{followed.minor}.*")
    return None


def cell_id(stack: str, python: str, versions: Mapping[str, Version]) -> str:
    """Return the name of a cell: readable, `[a-z0-9._-]` only, the same whatever other cells there are."""
    parts = [stack, f"py{python}", *(f"{name}{version}" for name, version in versions.items())]
    return re.sub(r"[^a-z0-9._-]", "-", "-".join(parts).lower())


def _exclusion(stack: Stack, python: str, versions: Mapping[str, Version]) -> str | None:
    values = {"python": Version(python), **versions}
    for rule in stack.exclude:
        if all(allows(specifier, values[axis]) for axis, specifier in rule.where.items()):
            return rule.reason
    return None


def _prebuilt(stack: Stack, python: str, versions: Mapping[str, Version]) -> str | None:
    """Return the first prebuilt image whose conditions hold."""
    values = {"python": Version(python), **versions}
    for rule in stack.prebuilt:
        if all(allows(specifier, values[axis]) for axis, specifier in rule.where.items()):
            return rule.image
    return None


def _renamed(cell: Cell) -> Cell:
    suffix = digest({name: str(version) for name, version in cell.versions.items()})[:8]
    return replace(cell, id=f"{cell.id}-{suffix}")
