"""Which package a change comes from: cells that take some packages from the bad side and the rest from the good one."""

from orchestrator.attribution.attribution import Attributed, Attribution, Culprit, Observation, Witness
from orchestrator.attribution.belief import Noise

__all__ = ["Attributed", "Attribution", "Culprit", "Noise", "Observation", "Witness"]
