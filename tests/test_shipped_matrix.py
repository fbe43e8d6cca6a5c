"""The matrix.yaml and the probes that are shipped belong together."""

import ast
from pathlib import Path

import pytest

from orchestrator.codec import from_json, to_json
from orchestrator.config import load
from orchestrator.matrix import Selection, ci_jobs, expand, select
from orchestrator.model import Device

ROOT = Path(__file__).parents[1]
MATRIX = load(ROOT / "matrix.yaml")


def marks():
    """Yield (node id, issue id) of every probe that is shipped."""
    for path in sorted((ROOT / "probes").glob("test_*.py")):
        for function in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
                continue
            calls = [d for d in function.decorator_list if isinstance(d, ast.Call)]
            ids = [call.args[0].value for call in calls if ast.unparse(call.func) == "pytest.mark.issue"]
            yield f"{path.name}::{function.name}", ids


@pytest.mark.parametrize(("nodeid", "ids"), list(marks()))
def test_a_probe_is_marked_with_the_issue_that_lists_it(nodeid, ids):
    assert [issue.id for issue in MATRIX.issues.values() if nodeid in issue.probes] == ids


def test_no_version_is_left_out_by_accident():
    cells = expand(MATRIX)
    assert select(MATRIX, cells, Selection()) == cells


def test_ipex_is_paired_with_the_torch_that_it_needs():
    pairs = {str(c.versions["ipex"]): str(c.requires["torch"]) for c in expand(MATRIX) if c.stack == "ipex-xpu"}
    assert pairs["2.1.20+xpu"] == "==2.1.0.post0+cxx11.abi"
    assert pairs["2.8.10+xpu"] == "==2.8.0+xpu"
    assert len(pairs) == 9


def test_torch_never_comes_from_an_index_that_anybody_may_publish_to_where_a_device_build_is_meant():
    for name in ("torch", "torchao", "ipex"):
        assert "default" not in MATRIX.packages[name].candidates(Device.XPU)


def test_it_goes_into_what_a_shard_leaves_and_comes_out_the_same():
    assert from_json(type(MATRIX), to_json(MATRIX)) == MATRIX


def test_cells_for_gpus_are_on_runners_of_their_own():
    jobs = ci_jobs(MATRIX, expand(MATRIX), Selection(), 12)
    assert sum(job.cells for job in jobs) == len(expand(MATRIX))
    for job in jobs:
        assert ("xpu" in job.runner) == ("-xpu" in job.name.partition(":")[0])
