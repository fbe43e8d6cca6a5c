"""Which package a change comes from: decided by cells that mix the good side with the bad one. Pure."""

from orchestrator.attribution.attribution import Attribution, Culprit, Observation, Witness
from orchestrator.attribution.belief import Noise

__all__ = ["Attribution", "Culprit", "Noise", "Observation", "Witness"]
