"""Shards as jobs of a workflow: what GitHub takes, and how long a job may run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from builders import axis, companion, issue, matrix, stack
from orchestrator.errors import ConfigError
from orchestrator.matrix import CiJob, Selection, Shard, ci_jobs, expand, github_output, select
from orchestrator.model import BaseImage, Limits

EVERYTHING = Selection()


def jobs(made, most=256, selection=EVERYTHING):
    return ci_jobs(made, select(made, expand(made), selection), selection, most)


def large():
    """Two thousand cells: twenty torch, twenty torchao and five Pythons."""
    pythons = tuple(f"3.{minor}" for minor in range(10, 15))
    axes = (
        axis("torch", *(f"2.{minor}.0" for minor in range(20))),
        axis("torchao", *(f"0.{minor}.0" for minor in range(20))),
    )
    bases = {python: BaseImage(python=python, image=f"python:{python}", debian=None) for python in pythons}
    return matrix(
        stack("pairs", *axes, python=pythons, runner=("self-hosted", "linux", "x64", "xpu")),
        issues=(issue("i", {"pairs": "torchao"}),),
        bases=bases,
    )


@pytest.mark.parametrize("most", [1, 20, 256])
def test_two_thousand_cells_obey_the_limits_of_github(most):
    found = jobs(large(), most)
    assert sum(job.cells for job in found) == 2000
    line = github_output(found)
    assert "\n" not in line
    assert len(line.encode("utf-16-le")) <= 1_000_000
    include = json.loads(line.removeprefix("matrix="))["include"]
    assert len(include) == len(found) <= most
    assert len({entry["id"] for entry in include}) == len(include)
    # A hundred groups on so many shards: most have work, and none has all of it.
    assert len(include) >= {1: 1, 20: 18, 256: 64}[most]


def test_an_entry_has_what_a_job_needs():
    made = matrix(
        stack("torch-cpu", axis("torch", "2.5.1", "2.8.0"), runner=("self-hosted", "xpu"), job_timeout=5400.5),
        issues=(issue("i", {"torch-cpu": "torch"}),),
    )
    assert json.loads(github_output(jobs(made, 1)).removeprefix("matrix=")) == {
        "include": [
            {
                "id": "1-of-1",
                "shard": "1/1",
                "runner": ["self-hosted", "xpu"],
                "timeout": 91,
                "cells": 2,
                "name": "torch-cpu: torch 2.5.1, 2.8.0",
            }
        ]
    }


def test_a_timeout_is_worked_out_from_the_limits():
    limits = Limits(build_timeout=600.0, probe_timeout=45.0)
    made = matrix(
        stack("s", axis("torch", "2.1", "2.2")),
        issues=(
            issue("i", {"s": "torch"}, "a.py::test_a", "a.py::test_b"),
            issue("j", {"s": "torch"}, "a.py::test_a"),
        ),
        limits=limits,
    )
    # Setup, two builds, and two attempts with one import and two probes each.
    assert [job.timeout for job in jobs(made, 1)] == [15 + 20 + 2 * (240 + 120) // 60]
    long = replace(made, limits=Limits(build_timeout=36_000.0))
    assert [job.timeout for job in jobs(long, 1)] == [360]


def test_the_longest_of_the_stacks_timeouts_counts():
    ao = stack(
        "ao",
        axis("torchao", "0.9"),
        companions=(companion("torch", "torchao", {">=0": "2.5"}),),
        job_timeout=7200.0,
    )
    made = matrix(
        stack("torch", axis("torch", "2.5"), job_timeout=600.0),
        ao,
        issues=(issue("i", {"torch": "torch", "ao": "torchao"}),),
    )
    assert [(job.timeout, job.cells) for job in jobs(made, 1)] == [(120, 2)]
    assert [job.timeout for job in jobs(made, 1, Selection(stacks=("torch",)))] == [10]
    open_ended = replace(made, stacks={**made.stacks, "torch": replace(made.stacks["torch"], job_timeout=None)})
    assert [job.timeout for job in jobs(open_ended, 1)] == [120]


def test_a_name_is_for_people_and_short():
    (job,) = jobs(large(), 1)
    assert len(job.name) <= 80
    assert job.name.startswith("pairs: torch 2.0.0, 2.1.0")
    assert job.name.endswith("...")


def one_job(**more):
    given = {"shard": Shard(index=1, count=1), "runner": ("ubuntu-latest",), "timeout": 1, "cells": 1, "name": "n"}
    return CiJob(**{**given, **more})


def test_more_jobs_than_github_runs_are_refused():
    with pytest.raises(ConfigError, match="257 jobs are more than the 256"):
        github_output([one_job()] * 257)


def test_more_text_than_github_passes_on_is_refused():
    """Counted as UTF-16, so that half a million characters are too many."""
    labels = tuple(f"{number:03}-{'x' * 96}" for number in range(20))
    assert len(github_output([one_job(runner=labels)] * 200)) > 400_000
    with pytest.raises(ConfigError, match=r"bytes as UTF-16, more than the 1000000") as caught:
        github_output([one_job(runner=labels)] * 256)
    assert "--max-jobs" in str(caught.value.hint)
