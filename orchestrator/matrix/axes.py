"""The versions of an axis: as listed, or picked from what an index offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from orchestrator.model import Axis, Stack, VersionRange
from orchestrator.versions import Version, newest_patches

if TYPE_CHECKING:
    from collections.abc import Iterable

AxisVersions = Mapping[tuple[str, str], tuple[Version, ...]]
"""(stack, axis) to the concrete versions of a range."""


def pick(offered: Iterable[tuple[Version, bool]], wanted: VersionRange) -> tuple[Version, ...]:
    """Pick the versions of a range from (version, yanked) pairs, ascending.

    Pre-releases and development releases only where the range asks for them; final releases of an equal
    minor compete for "newest" with their pre-releases.
    """
    kept = {
        version
        for version, yanked in offered
        if (wanted.yanked or not yanked)
        and (wanted.prereleases or not version.is_prerelease)
        and wanted.specifier.contains(version, prereleases=True)
    }
    return newest_patches(kept) if wanted.patches == "newest" else tuple(sorted(kept))


def named_versions(stack: Stack, axis: Axis, versions: AxisVersions) -> tuple[Version, ...]:
    """Return the versions of an axis, listed or picked."""
    if isinstance(axis.versions, VersionRange):
        return versions[stack.name, axis.package]
    return axis.versions
