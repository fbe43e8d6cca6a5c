"""What an attempt left, to classified results; judging an issue by them; and the store that keeps them."""

from orchestrator.results.classify import blanket, classify, imports
from orchestrator.results.judge import judge
from orchestrator.results.keys import ReuseKeys
from orchestrator.results.store import Recorded, Store

__all__ = ["Recorded", "ReuseKeys", "Store", "blanket", "classify", "imports", "judge"]
