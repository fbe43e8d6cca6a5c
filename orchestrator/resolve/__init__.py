"""Cells to exact distributions."""

from orchestrator.resolve.offers import axis_versions, nightlies
from orchestrator.resolve.pages import IndexUnreachableError, Pages
from orchestrator.resolve.resolver import Resolver

__all__ = ["IndexUnreachableError", "Pages", "Resolver", "axis_versions", "nightlies"]
