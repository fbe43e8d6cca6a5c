"""Judge where base images come from, and the registry that layers are shared in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.doctor.finding import Finding, Level, RuntimeName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSeen:
    """How a base of the matrix could be had."""

    name: str
    """What the matrix calls it: a Python version, or a name of its own."""
    image: str
    there: str = ""
    """What is here already, in words; empty where nothing is."""
    registry: str | None = None
    """Why the image's registry does not give it, None where it does or was not asked."""
    debian: str | None = None
    """The suite to make it from."""
    obstacle: str | None = None
    """Why it cannot be made from Debian packages here."""

    @property
    def made(self) -> bool:
        """Tell whether it can be made from Debian packages."""
        return self.debian is not None and self.obstacle is None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySeen:
    """What the engine was told by the registry of the matrix: None is well, else why it is not."""

    name: str
    trouble: str | None = None
    refused: bool = False


def judge_bases(bases: Sequence[BaseSeen]) -> Iterator[Finding]:
    """Say for every base how it is had; containers cannot work where none of them can be."""
    possible = any(base.there or base.registry is None or base.made for base in bases)
    for base in bases:
        yield _base(base, stops=() if possible else ("docker",))


def _base(base: BaseSeen, *, stops: tuple[RuntimeName, ...]) -> Finding:
    identity = f"base.{base.name}"
    if base.there:
        return Finding(id=identity, level=Level.OK, summary=f"base {base.name}: {base.there}")
    if base.registry is None:
        return Finding(id=identity, level=Level.OK, summary=f"base {base.name}: {base.image} would be pulled")
    if base.made:
        return Finding(
            id=identity,
            level=Level.NOTE,
            summary=f"base {base.name}: it would be made from Debian {base.debian} packages",
            detail=f"{base.image} cannot be pulled: {base.registry}",
            hint=f"load {base.image} into the engine to have the same base as hosts that pull it",
        )
    other = base.obstacle or "the matrix names no Debian suite to make it from"
    return Finding(
        id=identity,
        level=Level.PROBLEM,
        summary=f"no base image for {base.name}: {base.image} cannot be pulled, and none can be made",
        detail=f"registry: {base.registry}; Debian: {other}",
        hint=(
            f"`docker save {base.image}` where it can be pulled, `docker load` here; "
            "or give the engine a proxy; or install debootstrap and run as root"
        ),
        stops=stops,
    )


def judge_registry(seen: RegistrySeen) -> Finding:
    """Judge the registry of the matrix. It only saves work: nothing stops without it."""
    if seen.trouble is None:
        return Finding(id="registry", level=Level.OK, summary=f"the registry {seen.name} answers")
    host = seen.name.partition("/")[0]
    return Finding(
        id="registry",
        level=Level.PROBLEM,
        summary=f"the registry {seen.name} does not work: layers are built here, and not shared",
        detail=seen.trouble,
        hint=(
            f'`docker login {host}`; without TLS it has to be among "insecure-registries" of the engine'
            if seen.refused
            else f"see whether the engine's machine reaches {host}, or leave `registry` out of the matrix"
        ),
    )
