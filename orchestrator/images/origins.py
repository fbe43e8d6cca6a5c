"""The ways to get the image below everything: here already, from a registry, or from Debian packages."""

from __future__ import annotations

import subprocess
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.images.bootstrap import BootstrapError, bootstrapped
from orchestrator.images.engine import ENGINE_ERRORS, brief
from orchestrator.images.inventory import BOOTSTRAPPED
from orchestrator.images.labels import TOOL, TOOL_LABEL
from orchestrator.images.stream import StreamStoppedError, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from docker import APIClient

    from orchestrator.images.engine import Engine
    from orchestrator.model import BaseImage

PULL_STALL = 12.0
"""Seconds without a word from the registry after which a pull is given up."""

PULL_TIMEOUT = 900.0
IDENTITY_LABEL = "io.orchestrator.identity"


class OriginError(Exception):
    """This way leads to no image; the message says why, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An image: what it is by content, what the engine calls it, and where it came from in words."""

    identity: str
    reference: str
    words: str
    below: str = ""
    """Where a Dockerfile of the matrix was built on another image: what that is by content."""
    pulled: str | None = None
    """The name that it was pulled under just now."""


class Origins:
    """Looks for images in all ways there are."""

    def __init__(self, engine: Engine, cache: Path) -> None:
        self._engine = engine
        self._cache = cache

    def local(self, image: BaseImage) -> Found:
        """Take the image that the engine has under that name."""
        found = self._engine.image(image.image)
        if found is None:
            raise OriginError(f"no local image {image.image}")
        return Found(
            identity=_identity(found, image.image), reference=found["Id"], words=f"local image {image.image}"
        )

    def asked(self, image: BaseImage) -> Found:
        """Take what the registry says that the image is, without pulling it; a digest needs no asking."""
        name = image.image
        if "@" in name:
            return Found(identity=name.partition("@")[2], reference="", words=f"image {name}")

        def call(client: APIClient) -> Iterator[Any]:
            yield client.inspect_distribution(name)  # type: ignore[no-untyped-call]

        try:
            with closing(events(self._engine, call, timeout=PULL_STALL)) as stream:
                told = next(stream)
            identity = str(told["Descriptor"]["digest"])
        except StreamStoppedError as error:
            raise OriginError(f"its registry does not tell what {name} is: {error}") from error
        except ENGINE_ERRORS as error:
            raise OriginError(f"its registry does not tell what {name} is: {brief(error)}") from error
        except (KeyError, TypeError) as error:
            raise OriginError(f"its registry does not tell what {name} is") from error
        return Found(identity=identity, reference="", words=f"image {name}")

    def pulled(self, image: BaseImage, say: Callable[[str], None], identity: str | None = None) -> Found:
        """Pull the image from its registry, by digest where one is remembered."""
        repository, tag = _split(image.image)
        wanted = identity if identity is not None and identity.startswith("sha256:") else tag
        name = f"{repository}@{wanted}" if wanted != tag else image.image
        say(f"pulling {name}")

        def call(client: APIClient) -> Iterator[Any]:
            answer: Iterator[Any] = client.pull(repository, tag=wanted, stream=True, decode=True)
            return answer

        try:
            with closing(events(self._engine, call, timeout=PULL_TIMEOUT, stall=PULL_STALL)) as stream:
                for event in stream:
                    if error := event.get("error"):
                        raise OriginError(f"{name} cannot be pulled: {error}")
        except StreamStoppedError as error:
            raise OriginError(f"{name} cannot be pulled: {error}") from error
        except ENGINE_ERRORS as error:
            raise OriginError(f"{name} cannot be pulled: {brief(error)}") from error
        found = self._engine.image(name)
        if found is None:
            raise OriginError(f"{name} was pulled, but the engine does not have it")
        return Found(
            identity=_identity(found, name), reference=found["Id"], words=f"pulled {image.image}", pulled=name
        )

    def bootstrapped(self, image: BaseImage, say: Callable[[str], None]) -> Found:
        """Make the image from Debian packages, or take the one that was made so before."""
        suite = image.debian
        if suite is None:
            raise OriginError("the matrix names no Debian suite to make it from")
        tag = f"{BOOTSTRAPPED}:{suite}-{image.python}"
        words = f"bootstrapped from Debian {suite}"
        found = self._engine.image(tag)
        if found is not None and (identity := (found["Config"].get("Labels") or {}).get(IDENTITY_LABEL)):
            return Found(identity=identity, reference=found["Id"], words=words)
        try:
            with bootstrapped(image.python, suite, self._cache, say) as tree:
                self._import(tree.path, tag, tree.identity)
                return Found(identity=tree.identity, reference=tag, words=words)
        except BootstrapError as error:
            raise OriginError(str(error)) from error

    def _import(self, root: Path, tag: str, identity: str) -> None:
        argv = ["tar", "--numeric-owner", "--one-file-system", "-C", str(root), "-c", "."]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tar:
            try:
                self._engine.api.import_image_from_stream(
                    tar.stdout,
                    repository=tag,  # and not apart from it: Podman takes only this
                    changes=[f"LABEL {TOOL_LABEL}={TOOL}", f"LABEL {IDENTITY_LABEL}={identity}"],
                )
            except ENGINE_ERRORS as error:
                tar.kill()
                raise OriginError(f"the engine does not import the bootstrapped tree: {brief(error)}") from error
        if tar.returncode != 0:
            raise OriginError(f"tar ended with exit status {tar.returncode}")


def _identity(inspected: dict[str, Any], name: str) -> str:
    """The registry's digest where there is one: the same on every machine; else the engine's id.

    An image may have come under several names, with a digest for each.
    """
    repository = _split(name)[0]
    digests = sorted(
        inspected.get("RepoDigests") or (), key=lambda one: (not one.startswith(f"{repository}@"), one)
    )
    wanted = name.partition("@")[2]
    if wanted and any(one.endswith(f"@{wanted}") for one in digests):
        return wanted
    return str(digests[0].rpartition("@")[2] if digests else inspected["Id"])


def _split(name: str) -> tuple[str, str]:
    """Split a name into repository and tag or digest; a colon before a slash belongs to a port."""
    if "@" in name:
        repository, _, tag = name.partition("@")
        return repository.rpartition(":")[0] if ":" in repository.rpartition("/")[2] else repository, tag
    repository, colon, tag = name.rpartition(":")
    return (repository, tag) if colon and "/" not in tag else (name, "latest")
