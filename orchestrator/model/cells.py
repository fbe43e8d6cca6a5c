"""Cells, and the exact distributions that make them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.model.matrix import Device
from orchestrator.model.moment import Moment
from orchestrator.versions import SpecifierSet, Version


def digest(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, as hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of versions.

    `id` is derived from the values, `[a-z0-9._-]` only, and never parsed back. `requires` holds what the cell
    asks of each package under test: an exact version for an axis, a specifier for a companion.
    """

    id: str
    stack: str
    device: Device
    python: str
    versions: Mapping[str, Version]
    requires: Mapping[str, SpecifierSet]
    requirements: tuple[str, ...] = ()
    excluded: str | None = None
    """Why this combination is not to be run; None for a cell that is."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """Package to the full hash of the commit that it is built from, where it is no release."""
    pinned: bool = False
    """True where `requires` and `requirements` name an exact version of everything, so that no date matters."""
    prebuilt: str | None = None
    """The image that has all of this already; nothing is installed then."""


FROM_GIT = "(git)"
"""What stands for the index of a distribution that was built from a commit; no index can have this name."""

FROM_IMAGE = "(image)"
"""What stands for the index of a distribution that a prebuilt image has."""

Wheel = tuple[str, str, str]
"""Name, version and SHA-256: what makes two distributions the same, wherever they come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One wheel, exactly: `name` is normalised (PEP 503), `index` the name of the index that gave it."""

    name: str
    version: Version
    url: str
    sha256: str
    size: int | None
    index: str
    uploaded: Moment | None = None

    @property
    def wheel(self) -> Wheel:
        """What it is, without where it comes from."""
        return self.name, str(self.version), self.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The exact distributions of a cell, sorted by name, and the moment the index was read as of."""

    python: str
    platform: str
    as_of: Moment | None
    distributions: tuple[Distribution, ...]
    warnings: tuple[str, ...] = ()
    base: str | None = None
    """The base that the matrix names for it, where that is not the one of its Python."""
    prebuilt: str | None = None
    """Where a prebuilt image has it all: the digest of that image and of the versions it must have."""

    @property
    def digest(self) -> str:
        """The identity of the environment: what is in it, and the base that the matrix names for it."""
        return self.contents if self.base is None else digest([self.contents, self.base])

    @property
    def contents(self) -> str:
        """The identity of what gets installed: Python, platform, and every wheel by hash."""
        if self.prebuilt is not None:
            return digest([self.python, self.platform, self.prebuilt])
        return digest([self.python, self.platform, [d.wheel for d in self.distributions]])

    @property
    def installs(self) -> tuple[Distribution, ...]:
        """What has to be installed: nothing where a prebuilt image has it all."""
        return () if self.prebuilt is not None else self.distributions

    def version(self, distribution: str) -> Version | None:
        """Return the locked version of a distribution (normalised name), if it is there."""
        return next((d.version for d in self.distributions if d.name == distribution), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedCell:
    """A cell and its exact distributions."""

    cell: Cell
    lock: Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolvable:
    """A cell that no index can serve, in the resolver's words."""

    cell: Cell
    reason: str
    transient: bool = False
    """True where an index did not answer: the combination may exist."""
