"""Where an issue was introduced and where it was fixed: inference over what was measured, and nothing else."""

from orchestrator.pinpoint.answer import answer
from orchestrator.pinpoint.collapse import Group, collapse
from orchestrator.pinpoint.comparison import compare, with_news
from orchestrator.pinpoint.expectations import ends, unexpected
from orchestrator.pinpoint.measured import Measured
from orchestrator.pinpoint.series import PYTHON, Line, lines, series
from orchestrator.pinpoint.transitions import newest_known, ordered, state, transitions

__all__ = [
    "PYTHON",
    "Group",
    "Line",
    "Measured",
    "answer",
    "collapse",
    "compare",
    "ends",
    "lines",
    "newest_known",
    "ordered",
    "series",
    "state",
    "transitions",
    "unexpected",
    "with_news",
]
