"""What a JSON report says of the matrix, without what is about the run that measured it."""

from __future__ import annotations

import copy
from typing import Any

_OF_THE_RUN = ("run", "notices", "since")


def answers(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report without when and on what it was measured, and without logs, which name directories."""
    said = copy.deepcopy({key: value for key, value in report.items() if key not in _OF_THE_RUN})
    for cell in said["cells"]:
        del cell["measured"]
    for evidence in said["evidence"]:
        del evidence["logs"]
    for finding in said["findings"]:
        del finding["new"]
    return said
