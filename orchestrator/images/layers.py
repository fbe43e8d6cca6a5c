"""The images of a plan's steps: made, measured, removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docker.errors import APIError, ImageNotFound

from orchestrator.execute.port import StepFailedError
from orchestrator.images.base import labels
from orchestrator.images.builder import BELOW_LABEL, STEP_LABEL, TOOL, TOOL_LABEL, Build
from orchestrator.wheels.requirements import WHEELS, carries_credentials, local_wheels, requirements

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from threading import Event

    from orchestrator.execute.port import Step
    from orchestrator.images.base import Bases
    from orchestrator.images.building import Builds
    from orchestrator.images.engine import Engine

_CONFLICT = 409
_CERTIFICATES = "context/certificates.pem"


class Layers:
    """One image for each step, tagged with the step's key."""

    def __init__(self, engine: Engine, bases: Bases, builds: Builds, *, dockerfile: Path) -> None:
        self._engine = engine
        self._bases = bases
        self._builds = builds
        self._dockerfile = dockerfile

    @property
    def dockerfile(self) -> str:
        """The text of the Dockerfile that every layer is built with."""
        return self._dockerfile.read_text(encoding="utf-8")

    def ready(self, step: Step) -> bool:
        """Tell whether the step's image is there."""
        return self._engine.image(reference(step.key)) is not None

    def prepare(self, step: Step, say: Callable[[str], None], *, timeout: float, cancel: Event) -> None:
        """Build the step's image on its parent's, or on the base.

        Raises:
            StepFailedError: it could not be built.
        """
        if self.ready(step):
            return
        if secret := next((d for d in step.distributions if carries_credentials(d)), None):
            raise StepFailedError(
                f"the URL of {secret.name} {secret.version} carries credentials, which would stay in the image: "
                "use an index without them, or --runtime venv"
            )
        if step.parent is None:
            self._bases.ensure(step.base, say, timeout=timeout, cancel=cancel)
        build = Build(
            tag=reference(step.key),
            key=step.key,
            dockerfile=self.dockerfile,
            files={
                "context/requirements.txt": requirements(step, wheels=WHEELS).encode(),
                **{f"context/wheels/{name}": path for name, path in local_wheels(step).items()},
            },
            arguments={"BASE": below(step), "STEP": step.key},
            labels=labels(step.base, step.key, below(step)),
        )
        self._builds.run(build, say, timeout=timeout, cancel=cancel, certificates_at=_CERTIFICATES)

    def held(self) -> dict[str, int]:
        """Return every step image that is there, of whichever run: key to the bytes it adds to what is below."""
        sizes: dict[str, int] = {}
        steps: dict[str, tuple[str, str]] = {}
        for image in self._ours():
            labels = image["Labels"]
            for tag in image["RepoTags"] or ():
                sizes[tag] = int(image["Size"])
                if tag == reference(labels.get(STEP_LABEL, "")):
                    steps[labels[STEP_LABEL]] = tag, labels.get(BELOW_LABEL, "")
        return {key: max(0, sizes[tag] - sizes.get(below, 0)) for key, (tag, below) in steps.items()}

    def discard(self, key: str) -> None:
        """Remove a step's image, unless others stand on it or a container uses it."""
        tag = reference(key)
        if any(image["Labels"].get(BELOW_LABEL) == tag for image in self._ours()):
            return
        try:
            self._engine.api.remove_image(tag)
        except ImageNotFound:
            return
        except APIError as error:
            if error.status_code != _CONFLICT:
                raise

    def recipe(self, step: Step) -> str:
        """Return the Dockerfile, what it is built on, and what it installs."""
        return (
            f"# docker build --build-arg BASE={below(step)} --tag {reference(step.key)} .\n"
            f"{self.dockerfile}\n# context/requirements.txt\n{requirements(step)}"
        )

    def _ours(self) -> list[dict[str, Any]]:
        images = self._engine.api.images(filters={"label": f"{TOOL_LABEL}={TOOL}"})
        # A dangling image may inherit the labels of the one it was built on.
        return [image for image in images if image["RepoTags"]]


def reference(key: str) -> str:
    """Return what the engine calls the image of a step."""
    return f"orchestrator/layer:{key[:24]}"


def below(step: Step) -> str:
    """Return the image that a step is built on."""
    return step.base.reference if step.parent is None else reference(step.parent)
