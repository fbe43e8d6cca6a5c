"""A matrix to its cells: expand, exclude with reasons, select, shard. Pure."""

from orchestrator.matrix.axes import AxisVersions, pick
from orchestrator.matrix.expand import cell_at, cell_id, companion_requirement, expand
from orchestrator.matrix.jobs import MAX_JOBS, CiJob, ci_jobs, github_output
from orchestrator.matrix.select import Selection, asked, find, select
from orchestrator.matrix.shards import Shard, assign, parse_shard

__all__ = [
    "MAX_JOBS",
    "AxisVersions",
    "CiJob",
    "Selection",
    "Shard",
    "asked",
    "assign",
    "cell_at",
    "cell_id",
    "ci_jobs",
    "companion_requirement",
    "expand",
    "find",
    "github_output",
    "parse_shard",
    "pick",
    "select",
]
