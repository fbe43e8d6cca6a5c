"""Base images, layers, and the builders that make them."""

from orchestrator.images.base import Bases
from orchestrator.images.builder import TOOL, TOOL_LABEL
from orchestrator.images.building import BuilderName, Builds
from orchestrator.images.certificates import Certificates
from orchestrator.images.engine import ENGINE_ERRORS, Engine, brief, connect, unreachable
from orchestrator.images.layers import Layers, reference

__all__ = [
    "ENGINE_ERRORS",
    "TOOL",
    "TOOL_LABEL",
    "Bases",
    "BuilderName",
    "Builds",
    "Certificates",
    "Engine",
    "Layers",
    "brief",
    "connect",
    "reference",
    "unreachable",
]
