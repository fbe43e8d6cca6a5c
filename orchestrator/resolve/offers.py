"""The versions of axes that are given as a range, as the indexes offer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.matrix import AxisVersions, pick
from orchestrator.model import VersionRange

if TYPE_CHECKING:
    from orchestrator.model import Matrix
    from orchestrator.resolve.pages import Pages


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
