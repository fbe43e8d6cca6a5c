"""Ask the engine about images: with which builders it builds, which bases it has, and what is left of old runs."""

from __future__ import annotations

import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.doctor.base import BaseSeen, RegistrySeen
from orchestrator.doctor.builder import BuilderSeen
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.images import ENGINE_ERRORS, Bases, Builds, Certificates, Engine, Inventory, brief, connect
from orchestrator.images.bootstrap import obstacle
from orchestrator.images.buildkit import TRIAL, candidates, find_buildkit, trial_prefix, works
from orchestrator.images.classic import ClassicBuilder
from orchestrator.images.engine import tags
from orchestrator.images.inventory import BOOTSTRAPPED
from orchestrator.images.memory import Memory
from orchestrator.images.transfer import AbsentError, RefusedError, RegistryError, ask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from docker import APIClient

    from orchestrator.doctor.scope import Scope
    from orchestrator.model import BaseImage

_CALL = 6.0
_REGISTRY = 4.0
_NO_TAG = "doctor"
"""A tag that no image of ours has: the question is whether the registry answers."""


@contextmanager
def engine() -> Iterator[Engine]:
    """Give an engine whose calls do not wait long.

    Raises:
        EnvironmentUnusableError: it has gone away, or says what no engine says.
    """

    def clients(timeout: float) -> APIClient:
        return connect(min(timeout, _CALL))

    opened = Engine(clients)
    try:
        yield opened
    except (TypeError, KeyError, IndexError, AttributeError, ValueError) as error:
        raise EnvironmentUnusableError(f"the engine does not answer like one ({error!r})") from error
    finally:
        opened.close()


def try_classic(cancel: Event) -> BuilderSeen:
    """Build an image of nothing through the Engine API."""
    with engine() as opened:
        return BuilderSeen(name="classic", works=works(ClassicBuilder(opened), opened, cancel=cancel))


def try_buildkit(scope: Scope, cancel: Event) -> BuilderSeen:
    """Build an image of nothing with every docker command on PATH, until one works."""
    commands = len({command[0] for command in candidates()})
    with engine() as opened, tempfile.TemporaryDirectory(prefix="orchestrator-doctor-") as scratch:
        # Builders of one engine take turns with that file; nothing is made in a store that is not there.
        known = scope.cache / "docker"
        lock = (known if known.is_dir() else Path(scratch)) / "buildkit.lock"
        found = find_buildkit(opened, lock, cancel=cancel)
    return BuilderSeen(
        name="buildkit", works=found is not None, command=found.command if found else (), commands=commands
    )


def put_away_trials(_cancel: Event) -> None:
    """Remove what trying a builder has left that was not done in time."""
    with engine() as opened:
        for image in opened.api.images(TRIAL):
            for tag in tags(image):
                if tag.startswith(f"{TRIAL}:{trial_prefix()}"):
                    opened.api.remove_image(tag)


def held(_cancel: Event) -> int | None:
    """Return how many bytes the images of this tool hold; None where the engine does not say."""
    with engine() as opened:
        try:
            return sum(one.size for one in Inventory(opened).held().values())
        except ENGINE_ERRORS:
            return None


def look_at_bases(scope: Scope, cancel: Event) -> tuple[BaseSeen, ...]:
    """Return how each base of the matrix could be had; registries are asked side by side."""
    with engine() as opened:
        here = {name: _there(opened, scope, image) for name, image in scope.bases.items()}
        refusals: dict[str, str | None] = {}

        def look(name: str, image: BaseImage) -> None:
            refusals[name] = _ask(opened, image.image, cancel)

        missing = [(name, image) for name, image in scope.bases.items() if not here[name]]
        threads = [threading.Thread(target=look, args=one, daemon=True) for one in missing]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return tuple(
        BaseSeen(
            name=name,
            image=image.image,
            there=here[name],
            registry=refusals.get(name),
            debian=image.debian,
            obstacle=obstacle(scope.cache / "docker"),
        )
        for name, image in scope.bases.items()
    )


def _there(opened: Engine, scope: Scope, image: BaseImage) -> str:
    remembered = Memory(scope.cache / "docker" / "bases.json").get(image)
    if remembered is not None and (prepared := _prepared(opened, scope, image)):
        return f"{prepared} ({remembered.words})"
    if opened.image(image.image) is not None:
        return f"the engine has {image.image}"
    if image.debian and opened.image(f"{BOOTSTRAPPED}:{image.debian}-{image.python}") is not None:
        return f"made from Debian {image.debian} packages before"
    return ""


def _prepared(opened: Engine, scope: Scope, image: BaseImage) -> str:
    """Return what is there of a base that a run has found: the prepared image, or its file in a bundle."""
    if scope.dockerfiles is None:
        return ""
    cache = scope.cache / "docker"
    builds = Builds(opened, builder="classic", certificates=Certificates(cache / "none"), logs=cache / "logs")
    bases = Bases(opened, builds, cache=cache, dockerfiles=scope.dockerfiles)
    with suppress(EnvironmentUnusableError):
        base = bases.find(image, lambda _line: None)  # it is remembered: nothing is searched
        if opened.image(base.reference) is not None:
            return "prepared"
        if (scope.cache / "bundle" / "bases" / f"{base.digest}.tar").is_file():
            return "in the bundle"
    return ""


def _ask(opened: Engine, name: str, cancel: Event) -> str | None:
    try:
        ask(opened, name, timeout=_REGISTRY, cancel=cancel)
    except RegistryError as error:
        return str(error)
    except ENGINE_ERRORS as error:
        return brief(error)
    return None


def look_at_registry(name: str, cancel: Event) -> RegistrySeen:
    """Return what the registry of the matrix says when it is asked for something that is not there."""
    with engine() as opened:
        try:
            ask(opened, f"{name}:{_NO_TAG}", timeout=_REGISTRY, cancel=cancel)
        except AbsentError:
            return RegistrySeen(name=name)
        except RefusedError as error:
            return RegistrySeen(name=name, trouble=str(error), refused=True)
        except RegistryError as error:
            return RegistrySeen(name=name, trouble=str(error))
    return RegistrySeen(name=name)
