"""The dated development builds that lie between two releases. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING

from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms, parse_tag

from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DATED = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
"""Digits of a development number to what they say."""

_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""The minor version of glibc to the older name of its platform (PEP 600)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One version that an index offers; `wheels` are the tags of its wheels, None where they are not known."""

    version: Version
    yanked: bool
    wheels: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nightly:
    """One dated development build that can be installed."""

    version: Version
    date: date


def dated(
    builds: Iterable[Build],
    after: Version,
    before: Version,
    *,
    labels: Sequence[str | None],
    python: str,
    platform: str,
) -> tuple[Nightly, ...]:
    """Return the dated builds strictly between two versions by PEP 440, one of each version, by date.

    Local labels do not count for the order. Where a version was built with several, the first in `labels` wins,
    then any. `python` is like "3.11", `platform` like "x86_64-manylinux_2_28"; yanked builds and those without a
    wheel for the two are left out.
    """
    low, high = Version(after.public), Version(before.public)
    best: dict[Version, tuple[int, str, Nightly]] = {}
    for build in builds:
        made, public = nightly_date(build.version), Version(build.version.public)
        if made is None or build.yanked or not low < public < high or not _fits(build.wheels, python, platform):
            continue
        label = build.version.local
        rank = labels.index(label) if label in labels else len(labels)
        one = (rank, label or "", Nightly(version=build.version, date=made.date()))
        if public not in best or one[:2] < best[public][:2]:
            best[public] = one
    return tuple(sorted((one for _, _, one in best.values()), key=lambda one: (one.date, one.version)))


def nightly_date(version: Version) -> datetime | None:
    """Return the moment that a development number like dev20231010 tells (UTC); None where it tells none."""
    digits = str(version.dev or "")
    if len(digits) not in _DATED:
        return None
    try:
        return datetime.strptime(digits, _DATED[len(digits)]).replace(tzinfo=UTC)
    except ValueError:
        return None


def _fits(wheels: tuple[str, ...] | None, python: str, platform: str) -> bool:
    if wheels is None:
        return True
    return any(not parse_tag(wheel).isdisjoint(_tags(python, platform)) for wheel in wheels)


@cache
def _tags(python: str, platform: str) -> frozenset[Tag]:
    major, _, minor = python.partition(".")
    version = (int(major), int(minor))
    platforms = _platforms(platform)
    interpreter = f"cp{major}{minor}"
    return frozenset(
        (*cpython_tags(version, platforms=platforms), *compatible_tags(version, interpreter, platforms))
    )


def _platforms(platform: str) -> list[str]:
    """Return the platform tags that the resolver takes for a platform in its own words."""
    machine, _, system = platform.partition("-")
    if not system.startswith("manylinux_2_"):
        return list(mac_platforms((14, 0), "arm64" if machine == "aarch64" else machine))
    minors = range(int(system.rpartition("_")[2]), 4, -1)
    names = [name for minor in minors for name in (f"manylinux_2_{minor}", _LEGACY.get(minor)) if name]
    return [f"{name}_{machine}" for name in (*names, "linux")]
