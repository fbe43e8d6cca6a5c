"""What is asked of the resolver for one cell, as a project file that uv understands. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from orchestrator.model import DEFAULT_INDEX, Cell, Matrix, digest

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORMAT = 1
"""Part of every key: raise it when a lock would come out differently for the same request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One package under test: the distribution, what is required of it, and where to look, in order."""

    package: str
    distribution: str
    specifier: str
    candidates: tuple[str, ...]

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
        return digest([_FORMAT, parts, wanted, self.requirements])


def request(matrix: Matrix, cell: Cell, platform: str, *, grace_days: int) -> Request:
    """Write down what a cell asks of the resolver."""

    def wanted(name: str, specifier: str) -> Wanted:
        package = matrix.packages[name]
        return Wanted(
            package=name,
            distribution=package.distribution,
            specifier=specifier,
            candidates=package.candidates(cell.device),
        )

    varied = {axis.package for stack in matrix.stacks.values() for axis in stack.axes}
    varied |= {companion.package for stack in matrix.stacks.values() for companion in stack.companions}
    resolution = matrix.stacks[cell.stack].resolution
    return Request(
        python=cell.python,
        platform=platform,
        wanted=tuple(wanted(name, str(specifier)) for name, specifier in cell.requires.items()),
        requirements=cell.requirements,
        helpers=tuple(
            wanted(name, "")
            for name, package in matrix.packages.items()
            if name not in varied  # what some stack tests is no mere helper of another
            and cell.device in package.indexes
        ),
        resolution=resolution.isoformat() if isinstance(resolution, datetime) else resolution,
        grace_days=grace_days,
        indexes=matrix.indexes,
    )


def project(
    asked: Request,
    chosen: Iterable[tuple[Wanted, str]],
    urls: Mapping[str, str],
    as_of: datetime | None,
    *,
    open_names: bool = False,
) -> str:
    """Return the pyproject.toml that makes uv answer a request.

    Each package under test comes from its chosen index only (`explicit`), so that no other index can serve
    another build under its name; everything else comes from the default index. What is pinned exactly needs no
    date; an index that has no upload times is taken as it is. With `open_names`, helpers are not asked for and
    every index may serve every name: that finds out which names the closure has, and locks nothing.
    """
    chosen = tuple(chosen)
    tested = [wanted for wanted, _ in chosen if not open_names or wanted not in asked.helpers]
    dependencies = [f"{wanted.distribution}{wanted.specifier}" for wanted in tested]
    exempt = sorted({wanted.distribution for wanted, _ in chosen if wanted.exact})
    used = sorted({index for _, index in chosen if index != DEFAULT_INDEX})
    lines = [
        "[project]",
        'name = "cell"',
        'version = "0"',
        f'requires-python = "=={asked.python}.*"',
        f"dependencies = {json.dumps([*dependencies, *asked.requirements])}",
        "[tool.uv]",
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
        if index != DEFAULT_INDEX and wanted in tested
    ]
    return "\n".join(lines) + "\n"
