"""Dockerfiles of the matrix that are built on an origin first, such as a driver; told by what they installed."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from orchestrator.execute.port import StepFailedError
from orchestrator.images.builder import Build
from orchestrator.images.engine import ENGINE_ERRORS, brief
from orchestrator.images.inside import read_inside
from orchestrator.images.inventory import RECIPE
from orchestrator.images.labels import TOOL, TOOL_LABEL
from orchestrator.images.origins import Found
from orchestrator.images.settings import read_dockerfile
from orchestrator.model import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from orchestrator.images.building import Builds
    from orchestrator.images.engine import Engine
    from orchestrator.model import BaseImage

TIMEOUT = 1800.0
"""Seconds that such a build may take: hundreds of megabytes are installed from a distant archive."""

_ORIGIN = "orchestrator/origin"
_STATUS = "/var/lib/dpkg/status"
_FIELD = re.compile(r"^(Package|Version|Architecture|Status): (.+)$", re.MULTILINE)
_REPEATED = ("The command '", "Removing intermediate container")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


class RecipeError(Exception):
    """The Dockerfile cannot be built, on whatever image; the message says why, in one line."""


class Recipes:
    """Builds the Dockerfiles of bases. What comes out of an archive that moves on is another image next time."""

    def __init__(self, engine: Engine, builds: Builds, dockerfiles: Path) -> None:
        self._engine = engine
        self._builds = builds
        self._dockerfiles = dockerfiles

    def recipe(self, image: BaseImage) -> str:
        """Return the digest of a base's Dockerfile with its arguments, nothing where it has none."""
        if image.dockerfile is None:
            return ""
        return digest([read_dockerfile(self._dockerfiles / image.dockerfile), dict(image.arguments)])

    def applied(self, image: BaseImage, origin: Found, say: Callable[[str], None]) -> Found:
        """Build a base's Dockerfile on an origin, or take the image that was built so before.

        The identity of what comes out tells the origin, the Dockerfile with its arguments, and the system packages
        that are installed in the end, with their versions.

        Raises:
            RecipeError: it cannot be built.
        """
        if image.dockerfile is None:
            return origin
        text = read_dockerfile(self._dockerfiles / image.dockerfile)
        made_of = digest(["recipe", origin.identity, self.recipe(image)])
        tag = f"{RECIPE}:{made_of[:24]}"
        if self._engine.image(tag) is None:
            say(f"building {image.recipe} on {image.image} (some minutes)")
            try:
                self._build(image, origin, text, tag, made_of, say)
            except StepFailedError as error:
                raise RecipeError(f"{image.dockerfile} cannot be built: {_said(error)}") from error
            except ENGINE_ERRORS as error:
                raise RecipeError(f"{image.dockerfile} cannot be built: {brief(error)}") from error
        installed = packages(read_inside(self._engine, tag, _STATUS))
        # Without a list, one build cannot be known to be like another.
        found = installed or [str((self._engine.image(tag) or {}).get("Id"))]
        return Found(
            identity=digest([made_of, found]),
            reference=tag,
            words=f"{origin.words}, with {image.recipe}",
            below=origin.identity,
        )

    def _build(
        self, image: BaseImage, origin: Found, text: str, tag: str, key: str, say: Callable[[str], None]
    ) -> None:
        with named(self._engine, origin, key) as below:
            build = Build(
                tag=tag,
                key=key,
                dockerfile=text,
                arguments={**proxies(os.environ, say), **image.arguments, "BASE": below, "STEP": key},
                labels={TOOL_LABEL: TOOL},
            )
            self._builds.run(build, say, timeout=TIMEOUT, cancel=Event(), certificates_at="certificates.pem")


def _said(error: StepFailedError) -> str:
    """Return why a build failed and where its log is, without the whole instruction that builders repeat."""
    lines = [line for line in error.log.splitlines() if not line.startswith(_REPEATED)]
    reason = str(error)
    if _REPEATED[0] in reason:
        reason = " / ".join(lines[-4:-1])
    return f"{reason} ({lines[-1]})" if lines else reason


@contextmanager
def named(engine: Engine, origin: Found, key: str) -> Iterator[str]:
    """Give an image a name of its own for one build: BuildKit looks ids up in a registry, other names may move."""
    name = f"{_ORIGIN}:{key[:24]}"
    engine.api.tag(origin.reference, _ORIGIN, key[:24])
    try:
        yield name
    finally:
        with suppress(*ENGINE_ERRORS):  # the engine is gone, and with it the build
            engine.api.remove_image(name)


def packages(status: bytes | None) -> list[str]:
    """Return what dpkg has installed, as sorted name=version/architecture; none where there is no dpkg."""
    found = []
    for stanza in (status or b"").decode(errors="replace").split("\n\n"):
        fields = dict(_FIELD.findall(stanza))
        if fields.get("Status", "").endswith(" installed"):
            found.append("{Package}={Version}/{Architecture}".format_map(fields))
    return sorted(found)


def proxies(environment: Mapping[str, str], say: Callable[[str], None]) -> dict[str, str]:
    """Return the host's proxies as the build arguments that no builder keeps in an image.

    One with a password is left out, and said: arguments can be read by others while the build runs.
    """
    given = {name: environment[name] for name in _PROXIES if environment.get(name)}
    if secret := [name for name, value in given.items() if urlsplit(value).password]:
        say(f"{', '.join(secret)} has a password and is not passed to the build")
    return {name: value for name, value in given.items() if name not in secret}
