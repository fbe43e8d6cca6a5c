"""The base of every Python: found once, remembered by what it is, made again when something needs it."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uv import find_uv_bin

from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.port import Base, StepFailedError
from orchestrator.images.builder import Build
from orchestrator.images.contents import Contents
from orchestrator.images.engine import ENGINE_ERRORS, brief
from orchestrator.images.inventory import base_reference
from orchestrator.images.labels import STEP_LABEL, base_labels
from orchestrator.images.memory import Memory, Remembered
from orchestrator.images.origins import Found, OriginError, Origins
from orchestrator.images.recipes import RecipeError, Recipes, named
from orchestrator.images.settings import read_dockerfile
from orchestrator.images.stream import StreamStoppedError, events
from orchestrator.model import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

    from docker import APIClient

    from orchestrator.images.building import Builds
    from orchestrator.images.engine import Engine
    from orchestrator.images.registry import Registry
    from orchestrator.model import BaseImage

_ELF = b"\x7fELF"


class Bases:
    """Finds bases, and makes the prepared image that layers are built on: the origin plus `base.Dockerfile`."""

    def __init__(
        self,
        engine: Engine,
        builds: Builds,
        *,
        cache: Path,
        dockerfiles: Path,
        registry: Registry | None = None,
        note: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._engine = engine
        self._registry = registry
        self._note = note
        self._builds = builds
        self._origins = Origins(engine, cache)
        self._memory = Memory(cache / "bases.json")
        self._bundle = cache.parent / "bundle" / "bases"
        self._dockerfiles = dockerfiles
        self.contents = Contents(engine, cache / "contents")
        self._recipes = Recipes(engine, builds, dockerfiles)
        self._absent: dict[str, EnvironmentUnusableError] = {}
        self._images: dict[str, BaseImage] = {}

    def find(self, image: BaseImage, say: Callable[[str], None]) -> Base:
        """Return the base that an image makes; a remembered one without asking the engine.

        Raises:
            EnvironmentUnusableError: no way to get it works here.
        """
        if (absent := self._absent.get(image.key)) is not None:
            raise absent
        remembered = self._remembered(image)
        if remembered is None:
            with self._memory.locked():
                remembered = self._remembered(image) or self._search(image, say)
        base = self._base(image, remembered)
        self._images[base.digest] = image
        return base

    def ensure(self, base: Base, say: Callable[[str], None], *, timeout: float, cancel: Event) -> None:
        """Make the prepared image of a base where the engine does not have it.

        Raises:
            StepFailedError: it cannot be made, or only as another one than the results will be recorded under.
        """
        if self._engine.image(base.reference) is not None:
            return
        with self._memory.locked():
            if self._engine.image(base.reference) is not None:
                return
            if self._unpack(base, say, timeout=timeout, cancel=cancel):
                return
            if self._registry is None or base.prebuilt:  # a registry has that already
                self._build(base, self._again(base, say), say, timeout, cancel)
            elif not self._registry.pull(base.reference, base.digest, self._note, cancel=cancel):
                self._build(base, self._again(base, say), say, timeout, cancel)
                self._registry.push_later(base.reference, base.digest, self._note)

    def export(self, base: Base, directory: Path, *, timeout: float, cancel: Event) -> None:
        """Write the prepared image to a directory, as an archive that a bundle carries.

        Raises:
            StepFailedError: it cannot be made or written.
        """
        target = directory / f"{base.digest}.tar"
        if target.exists():
            return
        self.ensure(base, lambda _line: None, timeout=timeout, cancel=cancel)
        beside = target.with_suffix(".part")
        # The engine may be silent for long while it puts the archive together.
        client = self._engine.client(timeout)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as file:
                for block in client.get_image(base.reference):
                    if cancel.is_set():
                        raise StepFailedError("cancelled")
                    file.write(block)
            beside.replace(target)
        except ENGINE_ERRORS as error:
            raise StepFailedError(f"{target} cannot be written: {brief(error)}") from error
        finally:
            beside.unlink(missing_ok=True)
            self._engine.release(client)

    def _unpack(self, base: Base, say: Callable[[str], None], *, timeout: float, cancel: Event) -> bool:
        """Take the prepared image from a bundle; False where there is none with this base."""
        archive = self._bundle / f"{base.digest}.tar"
        if not archive.is_file():
            return False
        say(f"loading the base of Python {base.python} from the bundle")
        damaged = f"the base of Python {base.python} in the bundle is damaged, write the bundle again"
        said = f"{archive} does not hold it"
        try:
            with archive.open("rb") as file:

                def call(client: APIClient) -> Iterator[Any]:
                    answer: Iterator[Any] = client.load_image(file)  # type: ignore[no-untyped-call]
                    return answer

                # The image is there when the answer has ended, not before.
                with closing(events(self._engine, call, timeout=timeout, cancel=cancel)) as stream:
                    for event in stream:
                        said = event.get("error") or said
        except StreamStoppedError as error:
            raise StepFailedError(f"{archive} cannot be loaded: {error}") from error
        except ENGINE_ERRORS as error:
            raise StepFailedError(f"{damaged}: {brief(error)}") from error
        image = self._engine.image(base.reference)
        if image is None or (image["Config"].get("Labels") or {}).get(STEP_LABEL) != base.digest:
            raise StepFailedError(f"{damaged}: {said}")
        return True

    def _ways(
        self, image: BaseImage, say: Callable[[str], None], remembered: Remembered | None = None
    ) -> list[tuple[str, Callable[[], Found]]]:
        identity = (remembered.origin or remembered.identity) if remembered else None
        ways: list[tuple[str, Callable[[], Found]]] = [
            ("local", lambda: self._origins.local(image)),
            ("pulled", lambda: self._origins.pulled(image, say, identity)),
            ("bootstrapped", lambda: self._origins.bootstrapped(image, say)),
        ]
        if image.prebuilt:
            # Gigabytes: as long as it is only planned with, its digest is enough.
            ways[1:] = [("asked", lambda: self._origins.asked(image))] if remembered is None else ways[1:2]
        # The way that led there before comes first; the sort keeps the order of the others.
        return sorted(ways, key=lambda way: remembered is None or way[0] != remembered.way)

    def _search(self, image: BaseImage, say: Callable[[str], None]) -> Remembered:
        tried: list[str] = []
        for way, get in self._ways(image, say):
            try:
                found = self._recipes.applied(image, get(), say)
            except OriginError as error:
                tried.append(str(error))
                if way == "pulled":
                    say(str(error))
                continue
            except RecipeError as error:
                tried = [str(error)]
                break
            return self._keep(image, way, found)
        what = image.title if image.prebuilt or image.dockerfile else f"base image for Python {image.python}"
        self._absent[image.key] = EnvironmentUnusableError(
            f"no {what}: {'; '.join(tried)}",
            hint=f"load an image with Python {image.python} as {image.image}, or use --runtime venv",
        )
        raise self._absent[image.key]

    def _again(self, base: Base, say: Callable[[str], None]) -> Found:
        """Get the very image that a base was found as."""
        image = self._images.get(base.digest)
        remembered = self._remembered(image) if image else None
        if image is None or remembered is None:
            raise StepFailedError(f"the base of Python {base.python} is not known here: ask for it first")
        tried: list[str] = []
        other: tuple[str, Found] | None = None
        for way, get in self._ways(image, say, remembered):
            try:
                found = self._recipes.applied(image, get(), say)
            except OriginError as error:
                tried.append(str(error))
                continue
            except RecipeError as error:
                raise StepFailedError(f"the base of Python {base.python} cannot be made again: {error}") from error
            if found.identity == remembered.identity:
                return found
            other = other or (way, found)
        if other is None:
            raise StepFailedError(f"the base of Python {base.python} is gone: {'; '.join(tried)}")
        self._keep(image, *other)
        raise StepFailedError(
            f"the base of Python {base.python} is gone ({remembered.words}, {remembered.identity[:19]}) and what "
            f"can be had instead is another one ({other[1].words}, {other[1].identity[:19]}); "
            "start again to run on that one"
        )

    def _build(self, base: Base, origin: Found, say: Callable[[str], None], timeout: float, cancel: Event) -> None:
        say(f"preparing the base of Python {base.python} ({origin.words})")
        try:
            with named(self._engine, origin, base.digest) as below:
                build = Build(
                    tag=base.reference,
                    key=base.digest,
                    dockerfile=self._dockerfile(prebuilt=base.prebuilt),
                    files={} if base.prebuilt else {"uv": _installer()},
                    arguments={"BASE": below, "PYTHON": base.python, "STEP": base.digest},
                    labels=base_labels(base),
                )
                self._builds.run(build, say, timeout=timeout, cancel=cancel)
        finally:
            if base.prebuilt and origin.pulled is not None:
                # The prepared image holds its layers: once that is dropped, the disk has to be free again.
                with suppress(*ENGINE_ERRORS):
                    self._engine.api.remove_image(origin.pulled)

    def _remembered(self, image: BaseImage) -> Remembered | None:
        """Return what is known of an image, unless its Dockerfile is another one by now."""
        remembered = self._memory.get(image)
        return remembered if remembered and remembered.recipe == self._recipes.recipe(image) else None

    def _keep(self, image: BaseImage, way: str, found: Found) -> Remembered:
        remembered = Remembered(
            identity=found.identity,
            way=way,
            words=found.words,
            origin=found.below,
            recipe=self._recipes.recipe(image),
        )
        self._memory.put(image, remembered)
        return remembered

    def _base(self, image: BaseImage, remembered: Remembered) -> Base:
        # The installer's version is left out: it does not run when probes do.
        text = self._dockerfile(prebuilt=image.prebuilt)
        identity = digest(["base", remembered.identity, image.python, text])
        return Base(
            python=image.python,
            digest=identity,
            reference=base_reference(identity),
            origin=remembered.words,
            prebuilt=image.prebuilt,
        )

    def _dockerfile(self, *, prebuilt: bool) -> str:
        return read_dockerfile(self._dockerfiles / ("prebuilt.Dockerfile" if prebuilt else "base.Dockerfile"))


def _installer() -> Path:
    path = Path(find_uv_bin())
    with path.open("rb") as file:
        if file.read(4) != _ELF:
            raise StepFailedError(f"{path} is no Linux program, and images are Linux: build on a Linux host")
    return path
