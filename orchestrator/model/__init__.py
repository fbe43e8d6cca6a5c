"""The values that pass between stages; no behaviour beyond what they mean."""

from orchestrator.model.answer import Kind, Moved, Point, Series, Transition
from orchestrator.model.cells import Cell, Distribution, Lock, LockedCell, Unresolvable, digest
from orchestrator.model.matrix import (
    DEFAULT_INDEX,
    Axis,
    BaseImage,
    Companion,
    Device,
    Exclusion,
    Issue,
    Limits,
    Matrix,
    Package,
    Stack,
    State,
    Threshold,
    VersionRange,
)
from orchestrator.model.outcomes import Attempt, Import, Outcome, ProbeResult, Verdict

__all__ = [
    "DEFAULT_INDEX",
    "Attempt",
    "Axis",
    "BaseImage",
    "Cell",
    "Companion",
    "Device",
    "Distribution",
    "Exclusion",
    "Import",
    "Issue",
    "Kind",
    "Limits",
    "Lock",
    "LockedCell",
    "Matrix",
    "Moved",
    "Outcome",
    "Package",
    "Point",
    "ProbeResult",
    "Series",
    "Stack",
    "State",
    "Threshold",
    "Transition",
    "Unresolvable",
    "Verdict",
    "VersionRange",
    "digest",
]
