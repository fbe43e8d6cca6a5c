"""What else is known of a transition: where to read the change, and what may have caused it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from packaging.utils import canonicalize_name

from orchestrator.model import Moved, Series, Transition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.model import Matrix, Package, Stack
    from orchestrator.pinpoint.measured import Measured


def explain(matrix: Matrix, series: Series, row: Sequence[Measured]) -> Series:
    """Return a series with the evidence for each of its transitions; `row` holds the cells of its points."""
    cells = {measured.cell.versions[series.axis]: measured for measured in row}
    stack, subject = matrix.stacks[series.stack], matrix.packages[series.axis]
    explained: list[Transition] = []
    for transition in series.transitions:
        after, version = transition.after, transition.version
        new = cells[version]
        if after is None:
            git = (None, new.git_versions.get(series.axis))
            explained.append(replace(transition, git_versions=git))
            continue
        old = cells[after]
        under_test = _under_test(stack, series.axis)
        explained.append(
            replace(
                transition,
                compare=compare_link(subject, _reference(subject, old), _reference(subject, new)),
                culprit=tuple(name for name in under_test if _differs(matrix.packages[name], old, new)),
                moved=_moved(old, new, {_distribution(matrix.packages[name]) for name in under_test}),
                git_versions=(old.git_versions.get(series.axis), new.git_versions.get(series.axis)),
            )
        )
    return replace(series, transitions=tuple(explained))


def compare_link(package: Package, old: str | None, new: str | None) -> str | None:
    """Return the page that shows what changed between two references, if they and the repository are known."""
    if package.repository is None or old is None or new is None:
        return None
    return f"{package.repository.rstrip('/')}/compare/{quote(old, safe='/+')}...{quote(new, safe='/+')}"


def _reference(package: Package, measured: Measured) -> str | None:
    """Return what the repository calls a version: the commit that it was built from, or its tag."""
    commit = measured.cell.commits.get(package.name)
    if commit is not None:
        return commit
    version = measured.cell.versions[package.name]
    return measured.git_versions.get(package.name) if version.is_devrelease else package.release_tag(version)


def _under_test(stack: Stack, subject: str) -> tuple[str, ...]:
    names = [subject, *(axis.package for axis in stack.axes), *(c.package for c in stack.companions)]
    return tuple(dict.fromkeys(names))


def _differs(package: Package, old: Measured, new: Measured) -> bool:
    if old.cell.commits.get(package.name) != new.cell.commits.get(package.name):
        return True  # whatever their wheels call themselves
    if old.lock is None or new.lock is None:
        # Without locks, what was asked for is all that is known.
        return old.cell.requires.get(package.name) != new.cell.requires.get(package.name)
    distribution = _distribution(package)
    return old.lock.version(distribution) != new.lock.version(distribution)


def _moved(old: Measured, new: Measured, known: set[str]) -> tuple[Moved, ...]:
    before, after = _versions(old), _versions(new)
    names = sorted((before.keys() | after.keys()) - known) if before and after else ()
    return tuple(
        Moved(name=name, before=before.get(name), after=after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    )


def _versions(measured: Measured) -> dict[str, str]:
    return {d.name: str(d.version) for d in measured.lock.distributions} if measured.lock else {}


def _distribution(package: Package) -> str:
    return canonicalize_name(package.distribution)
