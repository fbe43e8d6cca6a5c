"""What else is known of a transition: where to read the change, and what may have caused it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote

from packaging.utils import canonicalize_name

from orchestrator.model import Moved, Neighbour

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from orchestrator.model import Distribution, Matrix, Package, Stack
    from orchestrator.pinpoint.measured import Measured
    from orchestrator.pinpoint.series import Line


class Installed:
    """What is installed in cells, and what differs between two of them: worked out once for each."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[str, str]] = {}
        self._moved: dict[tuple[str, str], tuple[Moved, ...]] = {}

    def versions(self, measured: Measured) -> Mapping[str, str]:
        """Return the version of each distribution (by its normalised name); nothing where no lock is known."""
        found = self._versions.get(measured.cell.id)
        if found is None:
            found = {d.name: str(d.version) for d in measured.lock.distributions} if measured.lock else {}
            self._versions[measured.cell.id] = found
        return found

    def distributions(self, measured: Measured) -> Iterator[tuple[Distribution, str]]:
        """Return each distribution of a locked cell with its version as text."""
        lock = measured.lock
        return zip(lock.distributions if lock else (), self.versions(measured).values(), strict=True)

    def moved(self, old: Measured, new: Measured) -> tuple[Moved, ...]:
        """Return every distribution that differs; nothing where one of the locks is not known."""
        pair = old.cell.id, new.cell.id
        found = self._moved.get(pair)
        if found is None:
            before, after = self.versions(old), self.versions(new)
            names = {name for name, _ in before.items() ^ after.items()} if before and after else ()
            found = self._moved[pair] = tuple(
                Moved(name=name, before=before.get(name), after=after.get(name)) for name in sorted(names)
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What is known of the step between two cells of a line; `Transition` says what the fields are."""

    compare: str | None
    culprit: tuple[str, ...]
    moved: tuple[Moved, ...]
    git_versions: tuple[str | None, str | None]


class Evidence:
    """What is known of the steps along one line, worked out once for each."""

    def __init__(self, matrix: Matrix, line: Line, installed: Installed) -> None:
        self._line = line
        self._installed = installed
        self._subject = matrix.packages[line.axis]
        self._under_test = {
            name: matrix.packages[name] for name in _under_test(matrix.stacks[line.stack], line.axis)
        }
        self._distributions = {name: _distribution(package) for name, package in self._under_test.items()}
        self._known: dict[tuple[int | None, int], Between] = {}

    def between(self, old: int | None, new: int) -> Between:
        """Return what is known of the step between two cells by their places; of the old one, if any."""
        found = self._known.get((old, new))
        if found is None:
            found = self._known[old, new] = self._since(new) if old is None else self._step(old, new)
        return found

    def _since(self, new: int) -> Between:
        git = self._line.cells[new].git_versions.get(self._line.axis)
        return Between(compare=None, culprit=(), moved=(), git_versions=(None, git))

    def _step(self, before: int, after: int) -> Between:
        old, new = self._line.cells[before], self._line.cells[after]
        axis, known = self._line.axis, set(self._distributions.values())
        return Between(
            compare=compare_link(self._subject, _reference(self._subject, old), _reference(self._subject, new)),
            culprit=tuple(name for name in self._under_test if self._differs(name, old, new)),
            moved=tuple(one for one in self._installed.moved(old, new) if one.name not in known),
            git_versions=(old.git_versions.get(axis), new.git_versions.get(axis)),
        )

    def _differs(self, name: str, old: Measured, new: Measured) -> bool:
        if old.cell.commits.get(name) != new.cell.commits.get(name):
            return True  # whatever their wheels call themselves
        if old.lock is None or new.lock is None:
            # Without locks, what was asked for is all that is known.
            return old.cell.requires.get(name) != new.cell.requires.get(name)
        distribution = self._distributions[name]
        return old.lock.version(distribution) != new.lock.version(distribution)


def neighbours(lines: Iterable[Line], installed: Installed) -> dict[str, dict[str, Neighbour]]:
    """Return, by cell and axis, the locked cell before a cell and what differs between the two."""
    found: dict[str, dict[str, Neighbour]] = {}
    for line in lines:
        locked = [measured for measured in line.cells if measured.lock is not None]
        for old, new in pairwise(locked):
            found.setdefault(new.cell.id, {})[line.axis] = Neighbour(
                cell=old.cell.id, moved=installed.moved(old, new)
            )
    return found


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


def _distribution(package: Package) -> str:
    return canonicalize_name(package.distribution)
