"""The versions of axes that are given as a range, as the indexes offer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError
from orchestrator.matrix import AxisVersions, pick
from orchestrator.model import VersionRange
from orchestrator.resolve.platform import platform_tag
from orchestrator.sources import Build, Nightly, dated

if TYPE_CHECKING:
    from orchestrator.model import Matrix, Stack
    from orchestrator.resolve.pages import Pages
    from orchestrator.versions import Version


def axis_versions(matrix: Matrix, pages: Pages) -> AxisVersions:
    """Read the versions of every axis that is a range, from the first index that has the project.

    Raises:
        EnvironmentUnusableError: no index answered.
    """
    found = {}
    for stack in matrix.stacks.values():
        for axis in stack.axes:
            if isinstance(axis.versions, VersionRange):
                package = matrix.packages[axis.package]
                releases = pages.offered(package.candidates(stack.device), package.distribution)
                found[stack.name, axis.package] = pick(((r.version, r.yanked) for r in releases), axis.versions)
    return found


def nightlies(
    matrix: Matrix, pages: Pages, stack: Stack, package: str, after: Version, before: Version, *, python: str
) -> tuple[Nightly, ...]:
    """Return the dated development builds of a package between two releases, oldest first.

    They are those that can be installed on this host with a Python ("3.11"), from the first index for the stack's
    device that has any. Of builds that differ in their label only, the one whose label the releases have is
    taken, else the one with the device's.

    Raises:
        ConfigError: no index is named that serves such builds for the device.
        EnvironmentUnusableError: no index answered.
    """
    asked = matrix.packages[package]
    indexes = asked.nightlies.get(stack.device, ())
    if not indexes:
        raise ConfigError(
            f"no index is named that serves development builds of {package} for {stack.device}",
            hint=f"name one at package {package}: `versions: {{nightlies: {{{stack.device}: [INDEX]}}}}`",
        )
    releases = pages.offered(indexes, asked.distribution)
    return dated(
        (Build(version=one.version, yanked=one.yanked, wheels=one.wheels) for one in releases),
        after,
        before,
        labels=(*filter(None, (before.local, after.local)), stack.device.value, None),
        python=python,
        platform=platform_tag(),
    )
