"""The lock of a cell whose packages are in an image already. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from orchestrator.model import FROM_IMAGE, Distribution, Lock, LockedCell, Unresolvable, digest
from orchestrator.versions import Version, parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.model import Cell, Matrix
    from orchestrator.versions import SpecifierSet


def lock_prebuilt(
    matrix: Matrix, cell: Cell, image: str, contents: Mapping[str, str] | None, *, platform: str
) -> LockedCell | Unresolvable:
    """Return what must be in a cell's image (by digest): the versions under test, and what else was found there.

    `contents` is name to version, None as long as nobody has looked. It does not change what the lock is: the
    digest of the image says it already.
    """
    wanted: dict[str, Version] = {}
    for package, specifier in cell.requires.items():
        version = _exact(specifier)
        if version is None:
            # What is not named cannot be found to differ.
            reason = f"{package}{specifier} is no exact version, as the packages of a prebuilt image must have"
            return Unresolvable(cell=cell, reason=reason)
        wanted[canonicalize_name(matrix.packages[package].distribution)] = version
    found: dict[str, Version] = {}
    odd: list[str] = []
    for name, text in (contents or {}).items():
        try:
            found[canonicalize_name(name)] = parse_version(text)
        except ValueError:  # of the system's own packages, which number as they like
            odd.append(f"{name} {text}")
    pins = [[name, str(version)] for name, version in sorted(wanted.items())]
    lock = Lock(
        python=cell.python,
        platform=platform,
        as_of=None,
        distributions=tuple(
            _distribution(name, version, cell, image) for name, version in sorted({**found, **wanted}.items())
        ),
        warnings=tuple(f"{cell.prebuilt} has {one}, which is no version by PEP 440" for one in sorted(odd)),
        prebuilt=digest(["prebuilt", image, pins]),
    )
    return LockedCell(cell=cell, lock=lock)


def _exact(specifier: SpecifierSet) -> Version | None:
    text = str(specifier)
    exact = text.startswith("==") and "," not in text and not text.endswith(".*")
    return Version(text.removeprefix("==")) if exact else None


def _distribution(name: str, version: Version, cell: Cell, image: str) -> Distribution:
    return Distribution(
        name=name, version=version, url=f"docker://{cell.prebuilt}", sha256=image, size=None, index=FROM_IMAGE
    )
