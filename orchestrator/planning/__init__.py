"""Which steps lead to every environment, shared as far as it is worth it. Pure."""

from orchestrator.planning.bound import distinct_bytes, least_bytes, stored_bytes
from orchestrator.planning.tree import plan_steps

__all__ = ["distinct_bytes", "least_bytes", "plan_steps", "stored_bytes"]
