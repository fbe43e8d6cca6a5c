"""What is asked of the resolver for one cell, as a project file that uv understands. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from orchestrator.model import DEFAULT_INDEX, FROM_GIT, Cell, Matrix, digest
from orchestrator.sources import nightly_date, recipe
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_FORMAT = 1
"""Part of every key: raise it when a lock would come out differently for the same request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The commit that a package is to be built of, what the matrix calls it, and how it is built."""

    sha: str
    version: Version
    recipe: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One package under test: the distribution, what is required of it, and where to look, in order."""

    package: str
    distribution: str
    specifier: str
    candidates: tuple[str, ...]
    nightly: bool = False
    """Whether it is a dated development build, of an index that serves those."""
    origin: Origin | None = None
    """Set where it is no release; then nothing else is required of it and no index is asked."""

    @property
    def exact(self) -> bool:
        """Whether the requirement names a single version, so that no date needs to narrow it."""
        return self.specifier.startswith("==") and not self.specifier.endswith(".*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything that decides what a lock comes to, but for the moment at which an index answers."""

    python: str
    platform: str
    wanted: tuple[Wanted, ...]
    requirements: tuple[str, ...]
    helpers: tuple[Wanted, ...]
    """Packages with an index of their own for this device that only the closure may need."""
    resolution: str
    grace_days: int
    indexes: Mapping[str, str]

    @property
    def key(self) -> str:
        """The name under which the lock is kept."""
        parts = [self.python, self.platform, self.resolution, self.grace_days, dict(self.indexes)]
        wanted = [[w.distribution, w.specifier, w.candidates] for w in (*self.wanted, *self.helpers)]
        built = [[w.distribution, w.origin.sha, w.origin.recipe] for w in self.wanted if w.origin is not None]
        return digest([_FORMAT, parts, wanted, self.requirements, *([built] if built else [])])


def request(matrix: Matrix, cell: Cell, platform: str, *, grace_days: int) -> Request:
    """Write down what a cell asks of the resolver."""

    def wanted(name: str, specifier: str) -> Wanted:
        package = matrix.packages[name]
        if name in cell.commits:
            origin = Origin(sha=cell.commits[name], version=cell.versions[name], recipe=recipe(package))
            # Not its version, which says where it lies between two releases: the same commit has many.
            return Wanted(
                package=name, distribution=package.distribution, specifier="", candidates=(), origin=origin
            )
        nightlies = package.nightlies.get(cell.device, ())
        nightly = bool(nightlies) and _is_dated(specifier)
        return Wanted(
            package=name,
            distribution=package.distribution,
            specifier=specifier,
            candidates=nightlies if nightly else package.candidates(cell.device),
            nightly=nightly,
        )

    varied = {axis.package for stack in matrix.stacks.values() for axis in stack.axes}
    varied |= {companion.package for stack in matrix.stacks.values() for companion in stack.companions}
    resolution = "latest" if cell.pinned else matrix.stacks[cell.stack].resolution
    asked = tuple(wanted(name, str(specifier)) for name, specifier in cell.requires.items())
    unasked = set() if any(one.nightly for one in asked) else _nightly_indexes(matrix)
    return Request(
        python=cell.python,
        platform=platform,
        wanted=asked,
        requirements=cell.requirements,
        helpers=tuple(
            wanted(name, "")
            for name, package in matrix.packages.items()
            if name not in varied  # what some stack tests is no mere helper of another
            and cell.device in package.indexes
        ),
        resolution=resolution.isoformat() if isinstance(resolution, datetime) else resolution,
        grace_days=grace_days,
        indexes={name: url for name, url in matrix.indexes.items() if name not in unasked},
    )


def _is_dated(specifier: str) -> bool:
    """Tell whether a requirement names one dated development build."""
    exact = specifier.startswith("==") and "," not in specifier and not specifier.endswith(".*")
    return exact and nightly_date(Version(specifier.removeprefix("=="))) is not None


def _nightly_indexes(matrix: Matrix) -> set[str]:
    """Return the indexes that serve nothing but development builds: cells of releases do not depend on them."""
    packages = matrix.packages.values()
    nightly = {index for package in packages for of_device in package.nightlies.values() for index in of_device}
    return nightly - {
        index for package in packages for of_device in package.indexes.values() for index in of_device
    }


def project(
    asked: Request,
    chosen: Iterable[tuple[Wanted, str]],
    urls: Mapping[str, str],
    as_of: datetime | None,
    *,
    built: Mapping[str, Path] | None = None,
    open_names: bool = False,
    any_index: bool = False,
) -> str:
    """Return the pyproject.toml that makes uv answer a request.

    Each package under test comes from its chosen index only (`explicit`), so that no other index can serve
    another build under its name; everything else comes from the default index. What is pinned exactly needs no
    date; an index that has no upload times is taken as it is. With `open_names`, helpers are not asked for and
    every index may serve every name: that finds out which names the closure has, and locks nothing. With
    `any_index`, a name that several indexes have may then come from any of them. `built` has the wheels of
    packages that are built of commits.
    """
    chosen = tuple(chosen)
    tested = [wanted for wanted, _ in chosen if not open_names or wanted not in asked.helpers]
    dependencies = [f"{wanted.distribution}{wanted.specifier}" for wanted in tested]
    exempt = sorted({wanted.distribution for wanted, _ in chosen if wanted.exact})
    used = sorted({index for _, index in chosen if index not in (DEFAULT_INDEX, FROM_GIT)})
    lines = [
        "[project]",
        'name = "cell"',
        'version = "0"',
        f'requires-python = "=={asked.python}.*"',
        f"dependencies = {json.dumps([*dependencies, *asked.requirements])}",
        "[tool.uv]",
        *(['index-strategy = "unsafe-best-match"'] if any_index else []),
    ]
    if as_of is not None:
        lines.append(f'exclude-newer = "{as_of.isoformat()}"')
        lines.append("exclude-newer-package = {" + ", ".join(f'"{name}" = false' for name in exempt) + "}")
    for index in used:
        lines += ["[[tool.uv.index]]", f"name = {json.dumps(index)}", f"url = {json.dumps(urls[index])}"]
        lines += ["exclude-newer = false", *([] if open_names else ["explicit = true"])]
    lines.append("[tool.uv.sources]")
    lines += [
        f'"{wanted.distribution}" = {{ index = {json.dumps(index)} }}'
        for wanted, index in chosen
        if index in used and wanted in tested
    ]
    lines += [
        f'"{wanted.distribution}" = {{ path = {json.dumps(str(built[wanted.package]))} }}'
        for wanted, _ in chosen
        if built is not None and wanted.package in built
    ]
    return "\n".join(lines) + "\n"
