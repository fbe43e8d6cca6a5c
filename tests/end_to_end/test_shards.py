"""A rehearsal of a sharded CI run, and what comes of it where something is missing or wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsals import rehearse

ROOT = Path(__file__).parents[2]
ISSUES = ("introduced", "crash", "number", "api", "always")
SELECTION = (*(word for issue in ISSUES for word in ("--issue", issue)), "-k", "tinylib>=1.4")
"""A failure, a signal, a metric, a missing API, and releases that cannot be had or imported; none takes long."""

SHARDS = 3
RELEASES = 10


def orchestrator(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "orchestrator", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory):
    work = tmp_path_factory.mktemp("rehearsal")
    return work, rehearse(work, "venv", SHARDS, SELECTION)


def test_shards_in_clean_checkouts_answer_like_one_run(rehearsal):
    work, done = rehearsal
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the shards answer like a run over the merged store: report.json " in done.stdout
    assert "the shards answer like a run of its own: report.json " in done.stdout
    assert f"{RELEASES} cells" in done.stdout.splitlines()[1]
    left = sorted(path.name for path in (work / "artifacts").iterdir())
    assert 2 <= len(left) <= SHARDS
    assert not (work / "checkout").exists()


def test_what_a_shard_leaves_is_small_and_has_no_caches(rehearsal):
    work, _ = rehearsal
    files = [path for path in (work / "artifacts").rglob("*") if path.is_file()]
    assert {path.relative_to(work / "artifacts").parts[1] for path in files} == {
        "CACHEDIR.TAG", "attempts", "results", "shard.json",
    }  # fmt: skip
    assert not any(path.suffix == ".whl" for path in files)
    # A measured cell: its lock, one log, five artifacts, and what came of five probes.
    assert sum(path.stat().st_size for path in files) < 100_000 * RELEASES


def test_without_one_shard_the_answer_is_incomplete_and_says_so(rehearsal, tmp_path):
    work, _ = rehearsal
    first, *others = sorted((work / "artifacts").iterdir())
    cells = len(json.loads((first / "shard.json").read_text(encoding="utf-8"))["measured"])
    lost = first.name.removeprefix("results-").replace("-of-", "/")
    done = orchestrator("merge", *map(str, others), "-o", "store", "--report", "json:report.json", cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert f"missing: shard {lost} ({cells} cell" in done.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["coverage"]["unmeasured"]["not-run"] == cells
    assert any(notice.startswith(f"not merged: shard {lost} ") for notice in report["notices"])


def test_a_merged_store_can_be_run_on_and_looked_into(rehearsal, tmp_path):
    """Nothing is measured once more, and the log of a cell is there."""
    work, _ = rehearsal
    project = tmp_path / "project"
    shutil.copytree(work / "origin", project)
    artifacts = [str(path) for path in sorted((work / "artifacts").iterdir())]
    merged = orchestrator("merge", *artifacts, cwd=project)
    assert merged.returncode == 0, merged.stderr
    shown = orchestrator("show", "tiny-py3.11-tinylib1.5", cwd=project)
    assert "broken since somebody" in shown.stdout
    assert "whole log: " in shown.stderr
    again = orchestrator("run", "--runtime", "venv", *SELECTION, cwd=project, UV_CACHE_DIR=str(work / "uv"))
    assert again.returncode == 0, again.stderr
    assert "every result is known already" in again.stderr


MATRIX = """\
version: 1
bases: {"3.11": {image: "python:3.11-slim"}}
packages: {tinylib: {}}
stacks:
  hosted: {device: cpu, axes: {tinylib: ["1.0"]}}
  gpu: {device: cpu, axes: {tinylib: ["1.0"]}, runner: [self-hosted, linux, xpu], job-timeout: 2h}
issues: {it: {title: it, probes: ["test_it.py::test_it"], subject: {hosted: tinylib, gpu: tinylib}}}
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes" / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    (tmp_path / "matrix.yaml").write_text(MATRIX, encoding="utf-8")
    return tmp_path


def test_a_plan_asks_nothing_of_the_network_and_leaves_nothing(small):
    done = orchestrator(
        "list", "--format", "github", "--max-jobs", "2", cwd=small, HTTPS_PROXY="http://127.0.0.1:9"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    hosted, gpu = json.loads(done.stdout.removeprefix("matrix="))["include"]
    assert (hosted["id"], hosted["shard"], hosted["runner"]) == ("1-of-2", "1/2", ["ubuntu-latest"])
    assert (gpu["id"], gpu["runner"], gpu["timeout"]) == ("2-of-2", ["self-hosted", "linux", "xpu"], 120)
    assert sorted(path.name for path in small.iterdir()) == ["matrix.yaml", "probes"]


def test_a_shard_without_cells_ends_well_and_says_so(small):
    plan = orchestrator("list", "--format", "github", "--stack", "hosted", "--max-jobs", "9", cwd=small)
    (job,) = json.loads(plan.stdout.removeprefix("matrix="))["include"]
    index = next(number for number in range(1, 10) if job["shard"] != f"{number}/9")
    done = orchestrator("run", "--shard", f"{index}/9", "--stack", "hosted", "--runtime", "venv", cwd=small)
    assert done.returncode == 0, done.stderr
    assert f"shard {index}/9 has no cells" in done.stderr
    assert done.stdout == f"shard {index}/9: no cells: .orchestrator/shards/{index}-of-9\n"
    assert (small / ".orchestrator" / "shards" / f"{index}-of-9" / "shard.json").is_file()


def test_a_shard_that_could_not_measure_says_so_and_leaves_what_it_has(small):
    """An index that does not answer is trouble, not a finding."""
    text = MATRIX.replace("{tinylib: {}}", "{tinylib: {indexes: {cpu: [gone]}}}")
    text = text.replace("bases:", 'indexes: {gone: "http://127.0.0.1:9/simple"}\nbases:')
    (small / "matrix.yaml").write_text(text, encoding="utf-8")
    done = orchestrator("run", "--shard", "1/2", "--runtime", "venv", "-o", "results", cwd=small)
    assert done.returncode == 4, done.stderr
    assert done.stdout == "shard 1/2: 1 cell, of them 1 infra: results\n"
    merged = orchestrator("merge", "results", "--report", "json", cwd=small)
    assert merged.returncode == 4, merged.stderr
    report = json.loads(merged.stdout)
    assert report["coverage"]["unmeasured"] == {"infra": 1, "not-run": 1}
    assert "missing: shard 2/2 (1 cell)" in merged.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["list", "--format", "github", "--max-jobs", "1"], 2, "need 2 kinds of runners"),
        (["list", "--format", "github", "--max-jobs", "257"], 2, "257 is not in the range"),
        (["list", "--format", "github", "--all"], 2, "there are no jobs for those"),
        (["list", "--max-jobs", "4"], 2, "--max-jobs is for --format github"),
        (["run", "--shard", "5/4"], 2, "I goes from 1 to N"),
        (["run", "--shard", "1/4", "--search", "adaptive"], 2, "a shard cannot be searched"),
        (["run", "--shard", "1/4", "--report", "json"], 2, "a shard has no report"),
        (["run", "-o", "results"], 2, "--output is for --shard"),
        (["run", "--shard", "1/4", "-o", "probes"], 2, "is not empty and no shard's directory"),
        (["run", "--shard", "1/4", "-s", "nothing-*", "--runtime", "venv"], 3, "no cell is selected"),
        (["merge"], 2, "Missing argument"),
        (["merge", "probes"], 2, "there is no shard.json"),
    ],
)
def test_a_mistake_is_one_error_with_its_exit_code(small, arguments, code, said):
    done = orchestrator(*arguments, cwd=small)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
