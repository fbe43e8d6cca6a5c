"""The wheel of a commit: its files, built once by uv on this host, and kept."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import threading
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from packaging.utils import canonicalize_name

from orchestrator.codec import from_json, to_json
from orchestrator.files import write_atomic
from orchestrator.model import Moment, Package, digest
from orchestrator.sources.repository import Repository
from orchestrator.uv import UvError, neutral_environment, run_uv
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

_TICK = 0.2
_LOG_LINES = 20
_RECORD = "built.json"
_AT_ONCE = threading.BoundedSemaphore(2)
"""Builds at the same time in this process: each may use all processors."""

_NETWORK = re.compile(
    r"error sending request|failed to fetch|dns error|connection (?:refused|reset)|temporary failure",
    re.IGNORECASE,
)
_UNDATED = re.compile(r"missing an upload date")
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|KEY$", re.IGNORECASE)
_PRETEND = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PDM_BUILD_SCM_VERSION", "POETRY_DYNAMIC_VERSIONING_BYPASS")
"""What tells backends the version that they would read from a repository, which is not there while they build."""


class BuildError(Exception):
    """A commit gives no wheel: one line, then the end of what was printed.

    `transient` is what a retry may cure; `lasting` is false where other limits may.
    """

    def __init__(self, reason: str, *, log: str = "", transient: bool = False, lasting: bool = True) -> None:
        tail = "\n".join(log.strip().splitlines()[-_LOG_LINES:])
        super().__init__(f"{reason}\n{tail}" if tail else reason)
        self.transient = transient
        self.lasting = lasting


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A wheel, where it lies, and when the commit was made that it is built from."""

    wheel: Path
    committed: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """Where and how wheels are built.

    `cache` is the store's. A build ends after `timeout` seconds. What it needs is taken as it was `grace` after
    the commit, where the index tells dates; `default_index` is the host's, where its environment names one.
    """

    cache: Path
    timeout: float
    grace: timedelta
    default_index: str | None


def build_wheel(
    package: Package,
    sha: str,
    version: Version,
    python: str,
    settings: BuildSettings,
    *,
    cancel: Event | None = None,
) -> Built:
    """Return the wheel of a commit for a Python; built where it is not below `<cache>/sources` yet.

    `version` is what projects are told that take theirs from git; others keep their own. Submodules are not
    there. The code of the commit runs on this host, as this user.

    Raises:
        BuildError: it does not build, not within its time, or `cancel` was set.
        OrchestratorError: the repository cannot be used.
    """
    if re.fullmatch(r"[0-9a-f]{40,64}", sha) is None:
        raise BuildError(f"{sha[:80]!r} is not the full hash of a commit")
    name = canonicalize_name(package.distribution)
    how = recipe(package)
    place = settings.cache / "sources" / name / (f"{sha}-{python}-{how}" if how else f"{sha}-{python}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with _held(place.with_name(f"{place.name}.lock"), cancel):
        kept = _kept(place)
        if kept is not None:
            return kept
        with _slot(cancel), tempfile.TemporaryDirectory(prefix="orchestrator-build-") as scratch:
            repository = Repository(package, settings.cache, cancel=cancel)
            committed = repository.moment(sha)
            # Named like the distribution: that is what a project without a name of its own is called.
            source = Path(scratch) / name
            source.mkdir()
            repository.export(sha, source)
            build = _Build(package, sha, version, python, committed, settings, cancel)
            return _keep(build.run(source, Path(scratch) / "out"), place, committed)


def recipe(package: Package) -> str:
    """Return what tells builds apart that the matrix has made differ; empty where it says nothing of them."""
    told = [package.build_requires, dict(package.build_environment)]
    return digest(told)[:8] if any(told) else ""


@dataclass(frozen=True, slots=True)
class _Build:
    package: Package
    sha: str
    version: Version
    python: str
    committed: Moment
    settings: BuildSettings
    cancel: Event | None

    def run(self, source: Path, out: Path) -> Path:
        command = [
            # Settings are read from where uv runs, and around there.
            *("--directory", str(source.parent), "build", "--wheel", "--python", self.python),
            *("--out-dir", str(out)),
        ]
        if self.settings.default_index is not None:
            command += ["--default-index", self.settings.default_index]
        if self.package.build_requires:
            command += self._require(source)
        dated = [*command, "--exclude-newer", (self.committed + self.settings.grace).isoformat()]
        try:
            try:
                self._uv([*dated, str(source)])
            except UvError as error:
                if _UNDATED.search(error.output) is None:
                    raise
                self._uv([*command, str(source)])
        except UvError as error:
            raise self._error(error) from None
        wheels = list(out.glob("*.whl"))
        if len(wheels) != 1:
            raise BuildError(f"{source.name} at commit {self.sha[:12]} built {len(wheels)} wheels, not one")
        return wheels[0]

    def _require(self, source: Path) -> list[str]:
        """Let a build have what its project does not declare; return what uv is to be told for that."""
        project = source / "pyproject.toml"
        told = project.read_text(encoding="utf-8") if project.is_file() else ""
        try:
            declares = "build-system" in tomllib.loads(told)
        except tomllib.TOMLDecodeError as error:
            raise BuildError(
                f"{source.name} at commit {self.sha[:12]}: pyproject.toml is wrong: {error}"
            ) from None
        if not declares:
            # uv adds nothing to a setup.py; what such a project has without saying so (PEP 518) is said here.
            needed = json.dumps(["setuptools", *self.package.build_requires])
            table = f'[build-system]\nrequires = {needed}\nbuild-backend = "setuptools.build_meta:__legacy__"\n'
            project.write_text(f"{told}\n{table}", encoding="utf-8")
            return []
        config = source.parent / "uv.toml"
        needed = json.dumps(list(self.package.build_requires))
        config.write_text(f'extra-build-dependencies = {{"{source.name}" = {needed}}}\n', encoding="utf-8")
        return ["--config-file", str(config)]

    def _uv(self, command: list[str]) -> None:
        variables = {
            variable: value
            for variable, value in neutral_environment().items()
            # The build is the project's own code; uv itself may need its credentials.
            if variable.startswith("UV_") or (_SECRET.search(variable) is None and variable != "PYTHONPATH")
        }
        variables |= dict.fromkeys(_PRETEND, str(self.version))
        variables["SOURCE_DATE_EPOCH"] = str(int(self.committed.timestamp()))
        # Builds that ask git for their commit would otherwise be told of a repository around the directory.
        variables["GIT_CEILING_DIRECTORIES"] = os.path.realpath(tempfile.gettempdir())
        variables |= self.package.build_environment
        run_uv(command, timeout=self.settings.timeout, cancel=self.cancel, environment=variables, own_session=True)

    def _error(self, error: UvError) -> BuildError:
        what = f"{self.package.name} at commit {self.sha[:12]} does not build"
        if error.stopped and self.cancel is not None and self.cancel.is_set():
            return BuildError("cancelled", transient=True)
        if error.stopped:
            reason = f"{what} within {self.settings.timeout:.0f} s (limits: build-timeout)"
            return BuildError(reason, log=error.output, lasting=False)
        transient = _NETWORK.search(error.output) is not None
        return BuildError(f"{what}: {_cause(error)}", log=error.output, transient=transient)


def _cause(error: UvError) -> str:
    """Return the last thing that an exception said in the log, else what uv said."""
    lines = [line.strip() for line in error.output.splitlines()]
    raised = [line for line in lines if re.match(r"([A-Za-z_.]+(Error|Exception)|SystemExit)\b", line)]
    return raised[-1] if raised else str(error)


def _keep(wheel: Path, place: Path, committed: datetime) -> Built:
    """Put a wheel in its place for good; the record, written last, says that it is whole."""
    place.mkdir(parents=True, exist_ok=True)
    target = place / wheel.name
    beside = place / f".{wheel.name}"
    shutil.copyfile(wheel, beside)
    beside.replace(target)
    built = Built(wheel=target, committed=committed)
    record = to_json(built) | {"wheel": target.name}  # the name alone: a store may be moved
    write_atomic(place / _RECORD, json.dumps(record).encode())
    return built


def _kept(place: Path) -> Built | None:
    try:
        record = from_json(Built, json.loads((place / _RECORD).read_bytes()))
    except (OSError, ValueError):  # not there yet, or of another version
        return None
    wheel = place / record.wheel.name
    return Built(wheel=wheel, committed=record.committed) if wheel.is_file() else None


@contextmanager
def _held(path: Path, cancel: Event | None) -> Iterator[None]:
    """Hold a lock between processes, and between threads."""
    lock = FileLock(path, is_singleton=False, thread_local=False)
    while True:
        try:
            lock.acquire(timeout=_TICK)
            break
        except Timeout:
            _stop_where_cancelled(cancel)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _slot(cancel: Event | None) -> Iterator[None]:
    while not _AT_ONCE.acquire(timeout=_TICK):
        _stop_where_cancelled(cancel)
    try:
        yield
    finally:
        _AT_ONCE.release()


def _stop_where_cancelled(cancel: Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise BuildError("cancelled", transient=True)
