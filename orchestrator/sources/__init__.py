"""Versions between two releases: dated development builds, and commits with the wheels that are built of them."""

from orchestrator.sources.commits import Commit, commits
from orchestrator.sources.nightlies import Build, Nightly, dated, nightly_date
from orchestrator.sources.wheel import BuildError, BuildSettings, Built, build_wheel, recipe

__all__ = [
    "Build",
    "BuildError",
    "BuildSettings",
    "Built",
    "Commit",
    "Nightly",
    "build_wheel",
    "commits",
    "dated",
    "nightly_date",
    "recipe",
]
