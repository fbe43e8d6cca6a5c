"""The git repository of a package: a local one as it stands, a remote one by way of a mirror in the cache."""

from __future__ import annotations

import re
import shutil
import tempfile
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.model import digest
from orchestrator.sources.git import GitError, run_git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event

    from orchestrator.model import Package
    from orchestrator.versions import Version

_LOCAL_TIMEOUT = 120.0
_NETWORK_TIMEOUT = 1800.0
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


class Repository:
    """The repository of a package that names one (`versions: {git: …}`).

    A mirror has the history of branches and tags and gets the content of commits as they are exported. It is
    updated only where something is not in it. Nothing is ever written to a local repository.
    """

    def __init__(self, package: Package, cache: Path, *, cancel: Event | None = None) -> None:
        if package.git is None:
            raise ConfigError(
                f"package {package.name} has no repository with its commits",
                hint="name it: `versions: {git: URL}`",
            )
        self._package = package
        self._source = package.git
        self._remote = "://" in package.git
        self._cancel = cancel
        self._mirror = cache / "git" / f"{package.name}-{digest(package.git)[:12]}.git"

    def tagged(self, version: Version) -> str:
        """Return the hash of the commit that a release was tagged at.

        Raises:
            ConfigError: there is no such tag.
            EnvironmentUnusableError: git or the repository cannot be used.
        """
        tag = self._package.release_tag(version)
        found = self._commit(f"refs/tags/{tag}")
        if found is None and self._remote:
            self._update()
            found = self._commit(f"refs/tags/{tag}")
        if found is None:
            raise ConfigError(
                f"{self._source} has no tag {tag} for {self._package.name} {version}",
                hint=f"how releases are tagged is said by `tag` of package {self._package.name}"
                f" ({self._package.tag!r})",
            )
        return found

    def merge_base(self, one: str, other: str) -> str:
        """Return the commit where two histories part.

        Raises:
            EnvironmentUnusableError: they have none in common, or git cannot be used.
        """
        try:
            return self._git("merge-base", _sha(one), _sha(other)).strip()
        except GitError as error:
            raise EnvironmentUnusableError(
                f"{self._source}: {one[:12]} and {other[:12]} have no common history: {error}",
                hint="a shallow clone has to be completed: git fetch --unshallow",
            ) from None

    def first_parents(self, base: str, tip: str) -> tuple[tuple[str, datetime, str], ...]:
        """Return hash, moment and subject of a commit and the first-parent history above it up to `tip`."""
        form = "--format=%H%x1f%cI%x1f%s"
        plain = ("log", "-z", "--no-color", "--no-show-signature", "--no-notes", form)
        try:
            text = self._git(*plain, "--no-walk", _sha(base), "--")
            text += "\0" + self._git(*plain, "--first-parent", "--reverse", f"{_sha(base)}..{_sha(tip)}", "--")
        except GitError as error:
            raise self._unusable(error) from None
        rows = (row.split("\x1f", 2) for row in text.split("\0") if row.strip())
        return tuple((sha, datetime.fromisoformat(moment).astimezone(UTC), said) for sha, moment, said in rows)

    def moment(self, sha: str) -> datetime:
        """Return when a commit was made.

        Raises:
            EnvironmentUnusableError: the commit is not there, or git cannot be used.
        """
        if self._commit(_sha(sha)) is None:
            if self._remote:
                self._update()
            if self._commit(sha) is None:
                raise EnvironmentUnusableError(f"{self._source} has no commit {sha[:12]} any more")
        (first,) = self.first_parents(sha, sha)
        return first[1]

    def export(self, sha: str, target: Path) -> None:
        """Write the files of a commit to an empty directory, without submodules.

        Raises:
            EnvironmentUnusableError: what the mirror lacks cannot be had, or git cannot be used.
        """
        with tempfile.TemporaryDirectory(prefix="orchestrator-index-") as scratch:
            # An index and a work tree of their own: those of the repository stay untouched. Unlike git archive,
            # this asks a server once for everything that a mirror without contents lacks.
            places = {"GIT_INDEX_FILE": str(Path(scratch) / "index"), "GIT_WORK_TREE": str(target)}
            try:
                self._git(
                    "read-tree", "--reset", "-u", "--no-recurse-submodules", _sha(sha),
                    directory=target, environment=places, timeout=_NETWORK_TIMEOUT,
                )  # fmt: skip
            except GitError as error:
                raise self._unusable(error) from None

    @cached_property
    def _directory(self) -> Path:
        """The git directory; a remote repository is cloned where there is no mirror yet."""
        if self._remote:
            with self._lock():
                if not self._mirror.is_dir():
                    self._clone()
            return self._mirror
        path = Path(self._source)
        # Not the repository of some directory above, where the path itself is none.
        above = {"GIT_CEILING_DIRECTORIES": str(path.parent)}
        try:
            found = run_git(
                ["-C", str(path), "rev-parse", "--absolute-git-dir"], timeout=_LOCAL_TIMEOUT, environment=above
            )
        except GitError as error:
            if error.missing:
                raise self._unusable(error) from None
            raise ConfigError(
                f"package {self._package.name}: {path} is no git repository: {error}",
                hint="`versions: {git: …}` is a URL or a path relative to the matrix",
            ) from None
        return Path(found.removesuffix("\n"))

    def _clone(self) -> None:
        self._mirror.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(dir=self._mirror.parent, prefix=f".{self._mirror.name}."))
        try:
            run_git(
                [
                    "clone",
                    "--quiet",
                    "--bare",
                    "--template=",
                    "--filter=blob:none",
                    "--",
                    self._source,
                    str(place),
                ],
                timeout=_NETWORK_TIMEOUT,
                cancel=self._cancel,
            )
            place.replace(self._mirror)
        except GitError as error:
            raise self._unusable(error) from None
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _update(self) -> None:
        directory = self._directory
        with self._lock():
            fetch = ["fetch", "--quiet", "--force", "--no-recurse-submodules", "origin", *_REFSPECS]
            try:
                run_git([f"--git-dir={directory}", *fetch], timeout=_NETWORK_TIMEOUT, cancel=self._cancel)
            except GitError as error:
                raise self._unusable(error) from None

    def _commit(self, name: str) -> str | None:
        """Return the commit of a full name or hash, None where there is none."""
        try:
            asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
            return self._git(*asked).strip()
        except GitError as error:
            if error.stopped or error.missing:
                raise self._unusable(error) from None
            return None

    def _git(
        self,
        *arguments: str,
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = _LOCAL_TIMEOUT,
    ) -> str:
        return run_git(
            [f"--git-dir={self._directory}", *arguments],
            timeout=timeout,
            cancel=self._cancel,
            directory=directory,
            environment=environment,
        )

    def _lock(self) -> FileLock:
        self._mirror.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(self._mirror.with_suffix(".lock"), is_singleton=False, thread_local=False)

    def _unusable(self, error: GitError) -> EnvironmentUnusableError:
        if error.missing:
            return EnvironmentUnusableError(str(error), hint="install git: commits are read with it")
        hint = "look at the address and the network" if self._remote else None
        return EnvironmentUnusableError(f"the repository {self._source} cannot be used: {error}", hint=hint)


def _sha(text: str) -> str:
    """Return a full hash as it is; anything else could be read as an option or a revision.

    Raises:
        ValueError: it is none.
    """
    if _SHA.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not the full hash of a commit")
    return text
