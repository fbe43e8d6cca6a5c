"""Which steps lead to every environment, shared as far as it is worth it. Pure."""

from orchestrator.planning.tree import plan_layers

__all__ = ["plan_layers"]
