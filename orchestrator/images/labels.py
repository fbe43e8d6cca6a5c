"""What an image of ours says about itself, in its labels."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.execute.port import Base, Step
    from orchestrator.model import Wheel

TOOL_LABEL = "io.orchestrator.tool"
TOOL = "matrix-orchestrator"
STEP_LABEL = "io.orchestrator.step"
"""The content digest of the image: of a layer its step's key, of a prepared base the base's digest."""

PARENT_LABEL = "io.orchestrator.parent"
BASE_LABEL = "io.orchestrator.base"
PLATFORM_LABEL = "io.orchestrator.platform"
WHEELS_LABEL = "io.orchestrator.wheels"
CREATED_LABEL = "io.orchestrator.created"


def base_labels(base: Base) -> dict[str, str]:
    """Return the labels of a prepared base."""
    return _common(base.digest) | {STEP_LABEL: base.digest, PARENT_LABEL: "", WHEELS_LABEL: "[]"}


def step_labels(step: Step) -> dict[str, str]:
    """Return the labels of a layer: enough to plan with it when nothing else is known of the step."""
    return _common(step.base.digest) | {
        STEP_LABEL: step.key,
        PARENT_LABEL: step.parent or "",
        PLATFORM_LABEL: step.platform,
        WHEELS_LABEL: json.dumps(step.wheels, separators=(",", ":")),
    }


def wheels_of(labels: Mapping[str, str]) -> tuple[Wheel, ...]:
    """Return the wheels that a layer adds to its parent; none where another version of this program made it."""
    try:
        return tuple((str(name), str(version), str(sha256)) for name, version, sha256 in _listed(labels))
    except (ValueError, TypeError):
        return ()


def _listed(labels: Mapping[str, str]) -> list[list[str]]:
    found: list[list[str]] = json.loads(labels.get(WHEELS_LABEL, "[]"))
    return found


def _common(base: str) -> dict[str, str]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {TOOL_LABEL: TOOL, BASE_LABEL: base, CREATED_LABEL: now}
