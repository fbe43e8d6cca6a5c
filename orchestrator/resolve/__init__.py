"""Cells to exact distributions."""

from orchestrator.resolve.pages import IndexUnreachableError, Pages
from orchestrator.resolve.resolver import Resolver, platform_tag
from orchestrator.resolve.uv import uv_binary, uv_environment

__all__ = ["IndexUnreachableError", "Pages", "Resolver", "platform_tag", "uv_binary", "uv_environment"]
