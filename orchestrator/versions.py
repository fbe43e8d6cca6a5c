"""Versions and specifiers: the only place where version text becomes a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "SpecifierSet",
    "Version",
    "allows",
    "exactly",
    "newest_patches",
    "parse_specifier",
    "parse_version",
]

_VERSION = re.compile(r"[0-9][A-Za-z0-9.+!_-]{0,63}")


def parse_version(text: str) -> Version:
    """Parse one PEP 440 version.

    Raises:
        ValueError: the text is no version, or has characters that no release has.
    """
    if not _VERSION.fullmatch(text):
        raise ValueError(f"{text!r} is not a version")
    try:
        return Version(text)
    except InvalidVersion:
        raise ValueError(f"{text!r} is not a PEP 440 version") from None


def parse_specifier(text: str) -> SpecifierSet:
    """Parse a PEP 440 specifier; a bare version means exactly that version.

    Raises:
        ValueError: the text is neither.
    """
    text = text.strip()
    if text[:1].isdigit():
        return exactly(parse_version(text)) if not text.endswith(".*") else SpecifierSet(f"=={text}")
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise ValueError(f"{text!r} is not a PEP 440 version or specifier (try '>=2.1,<2.9')") from None


def exactly(version: Version) -> SpecifierSet:
    """Return the specifier that only this version meets (and its local builds, if it names none)."""
    return SpecifierSet(f"=={version}")


def allows(specifier: SpecifierSet, version: Version) -> bool:
    """Tell whether a version that somebody asked for by name meets a specifier; pre-releases count."""
    return specifier.contains(version, prereleases=True)


def newest_patches(versions: Iterable[Version]) -> tuple[Version, ...]:
    """Keep the newest version of every (epoch, major, minor), in ascending order."""
    newest: dict[tuple[int, int, int], Version] = {}
    for version in sorted(versions):
        newest[version.epoch, version.major, version.minor] = version
    return tuple(newest.values())
