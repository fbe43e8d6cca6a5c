"""The commits between two releases, as versions that sort between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError
from orchestrator.sources.repository import Repository
from orchestrator.versions import Version

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event

    from orchestrator.model import Package

_SUBJECT = 200
_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit between two releases.

    `version` is made up: it sorts between the releases in the order of the history, and names the commit.
    """

    version: Version
    sha: str
    date: datetime
    subject: str


def commits(
    package: Package, cache: Path, after: Version, before: Version, *, cancel: Event | None = None
) -> tuple[Commit, ...]:
    """Return the commits that led from one release to the next, oldest first.

    Releases are often cut on branches: these are the first-parent commits from where the two histories part up to
    the tag of `before`, both included, but for a commit that is `after` itself. Merged branches count as one
    commit. Empty where `before` was tagged no later in the history than `after`. `cache` is the store's.

    Raises:
        ConfigError: the package names no repository, a release has no tag in it, or no version fits between.
        EnvironmentUnusableError: git or the repository cannot be used.
    """
    _check(package, after, before)
    repository = Repository(package, cache, cancel=cancel)
    old, new = repository.tagged(after), repository.tagged(before)
    base = repository.merge_base(old, new)
    if base == new:
        return ()
    found = []
    for position, (sha, date, subject) in enumerate(repository.first_parents(base, new)):
        if sha == old:
            continue
        version = commit_version(after, before, position, sha)
        found.append(Commit(version=version, sha=sha, date=date, subject=_plain(subject)))
    return tuple(found)


def commit_version(after: Version, before: Version, position: int, sha: str) -> Version:
    """Return the version of the commit at a position in the history, strictly between two releases (PEP 440).

    It is a development release of `before`: 2.1.0.post1.dev7+g1a2b3c4d5e6f. Where `after` is a pre-release of
    `before`, such a version would sort below it; then it is one of the pre-release that would have come next.
    """
    stem = before.public
    if after.pre is not None and before.pre is None and after.base_version == before.base_version:
        kind, number = after.pre
        stem = f"{before.base_version}{kind}{number + 1}"
    return Version(f"{stem}.dev{position}+g{sha[:_SHOWN]}")


def _check(package: Package, after: Version, before: Version) -> None:
    for version in (after, before):
        if version.dev is not None:
            raise ConfigError(
                f"{package.name} {version} is a development build: commits lie between two tagged releases"
            )
    if Version(after.public) >= Version(before.public):
        raise ConfigError(f"no commit lies between {package.name} {after} and {before}: the second is not later")


def _plain(subject: str) -> str:
    """Return a subject without what could steer a terminal, at a length that people read."""
    text = "".join(character if character.isprintable() else " " for character in subject).strip()
    return text if len(text) <= _SUBJECT else f"{text[:_SUBJECT]}…"
