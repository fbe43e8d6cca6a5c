"""Base images, layers, and the builders that make them."""

from orchestrator.images.base import Bases
from orchestrator.images.building import Builds
from orchestrator.images.certificates import Certificates
from orchestrator.images.engine import ENGINE_ERRORS, Engine, brief, connect, unreachable
from orchestrator.images.inventory import Inventory, reference
from orchestrator.images.labels import TOOL, TOOL_LABEL
from orchestrator.images.layers import Layers
from orchestrator.images.registry import Registry
from orchestrator.images.settings import BuilderName, ImageSettings

__all__ = [
    "ENGINE_ERRORS",
    "TOOL",
    "TOOL_LABEL",
    "Bases",
    "BuilderName",
    "Builds",
    "Certificates",
    "Engine",
    "ImageSettings",
    "Inventory",
    "Layers",
    "Registry",
    "brief",
    "connect",
    "reference",
    "unreachable",
]
