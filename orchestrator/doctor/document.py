"""An examination for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.doctor.finding import Examination

FORMAT = 1


def document(examination: Examination) -> dict[str, object]:
    """Return what `doctor --format json` prints; docs/reference/doctor.schema.json describes it."""
    return {
        "format": FORMAT,
        "usable": examination.usable,
        "runtimes": dict(examination.runtimes),
        "checks": [
            {
                "id": one.id,
                "level": one.level.value,
                "summary": one.summary,
                "detail": one.detail,
                "hint": one.hint,
                "stops": list(one.stops),
            }
            for one in examination.findings
        ],
    }
