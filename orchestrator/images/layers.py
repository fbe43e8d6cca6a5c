"""The images of a plan's steps: had from a registry, or built and shared there."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from orchestrator.execute.port import StepFailedError
from orchestrator.images.builder import Build, BuildError
from orchestrator.images.inventory import reference
from orchestrator.images.labels import step_labels
from orchestrator.images.settings import read_dockerfile
from orchestrator.wheels.requirements import carries_credentials, indexed, named, requirements
from orchestrator.wheels.trouble import is_disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from threading import Event

    from orchestrator.execute.port import Step
    from orchestrator.images.base import Bases
    from orchestrator.images.building import Builds
    from orchestrator.images.engine import Engine
    from orchestrator.images.registry import Registry
    from orchestrator.wheels.cache import WheelCache
    from orchestrator.wheels.server import WheelServer

_HANDED = "COPY context /tmp/build"
"""The line of the Dockerfile that is a comment as long as builds read their wheels from this host."""

_NOTHING = "context/.nothing"
"""So that there is a directory, whatever else is in it."""

_WHEELS = PurePosixPath("/tmp/build/wheels")  # noqa: S108 - inside the image that is built
_AS_IT_IS = "ARG BASE\nFROM ${BASE}\n"
_CERTIFICATES = "context/certificates.pem"


class Layers:
    """One image for each step, tagged with the step's key.

    A build reads its wheels from `server`, on the host's loopback interface. Where the engine does not share that
    with this program (it is remote, or rootless), builds ask the indexes themselves.
    """

    def __init__(
        self,
        engine: Engine,
        bases: Bases,
        builds: Builds,
        *,
        dockerfile: Path,
        wheels: WheelCache,
        server: WheelServer,
        registry: Registry | None = None,
        note: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._engine = engine
        self._bases = bases
        self._builds = builds
        self._dockerfile = dockerfile
        self._wheels = wheels
        self._server = server
        self._registry = registry
        self._note = note
        self._guard = threading.Lock()
        self._alone = False

    @property
    def dockerfile(self) -> str:
        """The text of the Dockerfile that every layer is built with."""
        return read_dockerfile(self._dockerfile)

    @property
    def served(self) -> bool:
        """Whether builds read their wheels from this host, as far as is known."""
        return not self._alone

    def ready(self, step: Step) -> bool:
        """Tell whether the step's image is there."""
        return self._engine.image(reference(step.key)) is not None

    def prepare(self, step: Step, say: Callable[[str], None], *, timeout: float, cancel: Event) -> None:
        """Pull the step's image, or build it on its parent's or on the base.

        Raises:
            StepFailedError: it could not be built.
        """
        if self.ready(step):
            return
        if step.base.prebuilt:
            self._bases.ensure(step.base, say, timeout=timeout, cancel=cancel)
            self._bases.contents.read(step.base)
            self._builds.run(as_it_is(step), say, timeout=timeout, cancel=cancel)
            return
        if self._registry is not None and self._registry.pull(
            reference(step.key), step.key, self._note, cancel=cancel
        ):
            return
        if step.parent is None:
            self._bases.ensure(step.base, say, timeout=timeout, cancel=cancel)
        build = Build(
            tag=reference(step.key),
            key=step.key,
            dockerfile=self.dockerfile,
            arguments={"BASE": below(step), "STEP": step.key, "LOCKED": named(step).rstrip()},
            labels=step_labels(step),
        )
        if self._alone or not self._served(build, step, say, timeout=timeout, cancel=cancel):
            self._direct(build, step, say, timeout=timeout, cancel=cancel)
        if self._registry is not None:
            self._registry.push_later(reference(step.key), step.key, self._note)

    def _served(
        self, build: Build, step: Step, say: Callable[[str], None], *, timeout: float, cancel: Event
    ) -> bool:
        """Build with wheels from this host; False where the build could not reach it."""
        with self._server.offer(step.distributions) as offer:
            listed = indexed(step, offer.index_url)
            served = replace(build, arguments={**build.arguments, "REQUIREMENTS": listed}, network="host")
            try:
                self._builds.run(served, say, timeout=timeout, cancel=cancel)
            except StepFailedError as error:
                if failure := next(iter(offer.errors.values()), None):
                    raise StepFailedError(str(failure), log=error.log, transient=failure.transient) from error
                if offer.requests or _otherwise(error) or cancel.is_set() or not step.distributions:
                    raise
                self.unserved("builds do not reach this host's loopback interface")
                return False
        return True

    def unserved(self, why: str) -> None:
        """Have all further builds get their wheels without this host's server; the reason is said once."""
        with self._guard:
            new, self._alone = not self._alone, True
        if new:
            self._note(f"{why}: they get wheels of this host with their files, and ask the indexes for others")

    def _direct(
        self, build: Build, step: Step, say: Callable[[str], None], *, timeout: float, cancel: Event
    ) -> None:
        """Build with wheels from their indexes."""
        if secret := next((d for d in step.distributions if carries_credentials(d)), None):
            raise StepFailedError(
                f"the URL of {secret.name} {secret.version} carries credentials, which would stay in the image, "
                "and the engine cannot have the wheel from this host: use an index without them, or --runtime venv"
            )
        if f"# {_HANDED}\n" not in build.dockerfile:
            raise StepFailedError(
                f"{self._dockerfile} has no line `# {_HANDED}`, without which no file gets into it"
            )
        handed = {d: path for d in step.distributions if (path := self._wheels.given(d)) is not None}
        listed = requirements(step, at=lambda d: _WHEELS / handed[d].name if d in handed else None)
        direct = replace(
            build,
            # The builders have no way to hand files to an instruction but a layer of their own.
            dockerfile=build.dockerfile.replace(f"# {_HANDED}", _HANDED),
            files={_NOTHING: b"", **{f"context/wheels/{path.name}": path for path in handed.values()}},
            arguments={**build.arguments, "REQUIREMENTS": listed},
        )
        self._builds.run(direct, say, timeout=timeout, cancel=cancel, certificates_at=_CERTIFICATES)

    def recipe(self, step: Step) -> str:
        """Return the Dockerfile, what it is built on, and what it installs."""
        if step.base.prebuilt:
            return f"# {step.base.origin}, as it is: prebuilt.Dockerfile adds where results go\n{_AS_IT_IS}"
        return (
            f"# docker build --build-arg BASE={below(step)} --build-arg STEP={step.key}"
            ' --build-arg REQUIREMENTS="$(cat requirements.txt)" --build-arg LOCKED="$(cat locked.txt)"'
            f" --tag {reference(step.key)} .\n"
            f"{self.dockerfile}\n# requirements.txt\n{requirements(step)}\n# locked.txt\n{named(step)}"
        )


def as_it_is(step: Step) -> Build:
    """Return the build that gives a prepared prebuilt image the name and labels of a step, and adds nothing."""
    return Build(
        tag=reference(step.key),
        key=step.key,
        dockerfile=_AS_IT_IS,
        arguments={"BASE": below(step)},
        labels=step_labels(step),
    )


def _otherwise(error: StepFailedError) -> bool:
    """Tell whether a build failed for a reason that has nothing to do with where wheels come from."""
    cause = error.__cause__
    return (isinstance(cause, BuildError) and cause.stopped) or is_disk(error.log)


def below(step: Step) -> str:
    """Return the image that a step is built on."""
    return step.base.reference if step.parent is None else reference(step.parent)
