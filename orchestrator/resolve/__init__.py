"""Cells to exact distributions."""

from orchestrator.resolve.offers import axis_versions, nightlies
from orchestrator.resolve.pages import IndexUnreachableError, Pages
from orchestrator.resolve.platform import platform_tag
from orchestrator.resolve.prebuilt import lock_prebuilt
from orchestrator.resolve.resolver import Resolver

__all__ = [
    "IndexUnreachableError",
    "Pages",
    "Resolver",
    "axis_versions",
    "lock_prebuilt",
    "nightlies",
    "platform_tag",
]
