"""Run builds: choose the builder, keep the log, and say what went wrong in the words of the runtime port."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.port import StepFailedError
from orchestrator.images.builder import Build, Builder, BuildError
from orchestrator.images.buildkit import find_buildkit
from orchestrator.images.buildlog import BuildLog
from orchestrator.images.classic import ClassicBuilder
from orchestrator.wheels import trouble

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from threading import Event

    from orchestrator.images.certificates import Certificates
    from orchestrator.images.engine import Engine
    from orchestrator.images.settings import BuilderName


class Builds:
    """Builds images with one builder, which is chosen at the first build."""

    def __init__(self, engine: Engine, *, builder: BuilderName, certificates: Certificates, logs: Path) -> None:
        self._engine = engine
        self._asked = builder
        self._certificates = certificates
        self._logs = logs
        self._lock = threading.Lock()
        self._builder: Builder | None = None

    @property
    def builder(self) -> Builder:
        """The builder in use: BuildKit where it works, it copies a layer once less than the classic one does."""
        with self._lock:
            if self._builder is None:
                self._builder = self._choose()
            return self._builder

    def _choose(self) -> Builder:
        if self._asked == "classic":
            return ClassicBuilder(self._engine)
        if (buildkit := find_buildkit(self._engine, self._logs.parent / "buildkit.lock")) is not None:
            return buildkit
        if self._asked == "buildkit":
            raise EnvironmentUnusableError(
                "no docker command on PATH builds with BuildKit here",
                hint="install the buildx plugin, or use the classic builder",
            )
        return ClassicBuilder(self._engine)

    def run(
        self,
        build: Build,
        say: Callable[[str], None],
        *,
        timeout: float,
        cancel: Event,
        certificates_at: str | None = None,
    ) -> None:
        """Build one image.

        `certificates_at` is where in the context the host's certificates go, if they turn out to be needed.

        Raises:
            StepFailedError: there is no image.
        """
        bundle = self._certificates.bundle if certificates_at is not None else None

        def attempt() -> None:
            files = build.files if bundle is None else {**build.files, str(certificates_at): bundle}
            self.builder.build(replace(build, files=files), line=log, timeout=timeout, cancel=cancel)

        with BuildLog(self._logs / f"{build.key[:24]}.txt") as log:
            try:
                attempt()
            except BuildError as error:
                again = certificates_at is not None and not error.stopped and trouble.is_certificate(log.tail)
                bundle = self._certificates.adopt(bundle) if again else None
                if bundle is None:
                    raise _failed(error, log) from error
                say(f"TLS fails inside the build; trying again with the certificates of {bundle}")
            else:
                return
            try:
                attempt()
            except BuildError as error:
                raise _failed(error, log) from error


def _failed(error: BuildError, log: BuildLog) -> StepFailedError:
    tail = log.tail
    reason = str(error)
    if error.stopped:
        return StepFailedError(reason, log=_signed(tail, log))
    if trouble.is_disk(tail):
        reason = "the disk is full"
    elif trouble.is_certificate(tail):
        reason = "TLS fails inside the build: the certificate of an index is not known there"
    elif (said := trouble.complaint(tail)) is not None:
        reason = said
    transient = error.transient or trouble.is_transient(tail)
    return StepFailedError(reason, log=_signed(tail, log), transient=transient)


def _signed(tail: str, log: BuildLog) -> str:
    return f"{trouble.readable(tail)}\nthe whole log: {log.path}"
