"""What an attempt left, to classified results; judging an issue by them; and the store that keeps them."""

from orchestrator.results.classify import blanket, classify, imports, runtime_versions
from orchestrator.results.judge import judge
from orchestrator.results.keys import ReuseKeys, environment_key
from orchestrator.results.recorded import Recorded
from orchestrator.results.store import Store

__all__ = [
    "Recorded",
    "ReuseKeys",
    "Store",
    "blanket",
    "classify",
    "environment_key",
    "imports",
    "judge",
    "runtime_versions",
]
