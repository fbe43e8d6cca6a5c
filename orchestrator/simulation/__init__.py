"""Searches replayed where the truth is known: random or recorded histories, strategies, and how well they did."""

from orchestrator.simulation.histories import Setting, World, draw
from orchestrator.simulation.recorded import worlds
from orchestrator.simulation.scores import Score, Summary, play, replay, score, summary, wilson
from orchestrator.simulation.strategies import Adaptive, Bisection, Exhaustive, Played, Strategy

__all__ = [
    "Adaptive",
    "Bisection",
    "Exhaustive",
    "Played",
    "Score",
    "Setting",
    "Strategy",
    "Summary",
    "World",
    "draw",
    "play",
    "replay",
    "score",
    "summary",
    "wilson",
    "worlds",
]
