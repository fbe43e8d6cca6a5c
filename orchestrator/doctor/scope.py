"""What an examination is about: from the command line, and from the matrix where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orchestrator.doctor.finding import BOTH, RuntimeName
from orchestrator.images import BuilderName
from orchestrator.model import DEFAULT_INDEX, BaseImage, Device, Limits

if TYPE_CHECKING:
    from orchestrator.model import Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAsked:
    """An index, and projects that it should have, the likeliest first; `url` None is the host's default index."""

    name: str
    url: str | None
    projects: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is examined. Without a matrix: its default limits, and no bases, stacks and indexes of its own."""

    store: Path
    runtime: Literal["auto", "docker", "venv"] = "auto"
    builder: BuilderName = "auto"
    limits: Limits = field(default_factory=Limits)
    dockerfiles: Path | None = None
    bases: Mapping[str, BaseImage] = field(default_factory=dict)
    registry: str | None = None
    indexes: tuple[IndexAsked, ...] = ()
    pythons: tuple[str, ...] = ()
    stacks: dict[Device, tuple[str, ...]] = field(default_factory=dict)
    """Which stacks need a device."""

    @property
    def runtimes(self) -> tuple[RuntimeName, ...]:
        """The runtimes that may be used."""
        return BOTH if self.runtime == "auto" else (self.runtime,)

    @property
    def cache(self) -> Path:
        """The store's cache."""
        return self.store / "cache"


_ANYWHERE = "packaging"
"""A small project of the default index, asked for where no package of the matrix is there."""


def scope_of(
    matrix: Matrix | None, *, store: Path, runtime: Literal["auto", "docker", "venv"], builder: BuilderName
) -> Scope:
    """Return what to examine for a matrix, or for none."""
    if matrix is None:
        default = IndexAsked(name=DEFAULT_INDEX, url=None, projects=(_ANYWHERE,))
        return Scope(store=store, runtime=runtime, builder=builder, indexes=(default,))
    stacks: dict[Device, tuple[str, ...]] = {}
    for stack in matrix.stacks.values():
        stacks[stack.device] = (*stacks.get(stack.device, ()), stack.name)
    return Scope(
        store=store,
        runtime=runtime,
        builder=builder,
        limits=matrix.limits,
        dockerfiles=matrix.images,
        bases=dict(matrix.bases),
        registry=matrix.registry,
        indexes=_indexes(matrix),
        pythons=tuple(dict.fromkeys(python for stack in matrix.stacks.values() for python in stack.python)),
        stacks=stacks,
    )


def _indexes(matrix: Matrix) -> tuple[IndexAsked, ...]:
    places: Mapping[str, str | None] = {**matrix.indexes, DEFAULT_INDEX: None}
    return tuple(IndexAsked(name=name, url=url, projects=_projects(matrix, name)) for name, url in places.items())


def _projects(matrix: Matrix, index: str) -> tuple[str, ...]:
    """Return what to ask an index for: first the packages that are looked for there before anywhere else."""
    places: dict[str, int] = {}
    for package in matrix.packages.values():
        for device in Device:
            for names in (package.candidates(device), package.nightlies.get(device, ())):
                if index in names:
                    place = names.index(index)
                    places[package.distribution] = min(places.get(package.distribution, place), place)
    return tuple(sorted(places, key=lambda name: places[name])) or (_ANYWHERE,)
