"""The scripts of the workflows, run here in their order: what GitHub does between them is done by hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest

import history
import workflows
from expressions import filled, written
from hub import Hub
from orchestrator.cli import cli
from wheelhouse import Wheelhouse
from workflows import ROOT, defaults, step

EXPRESSION = "tinylib>=1.6 and tinylib<=1.8"
"""In 1.7 two issues are fixed; 1.8 crashes, which 1.7 does not."""


@dataclass(kw_only=True)
class Runner:
    """One job on a runner of its own: a fresh checkout, and the files that GitHub reads."""

    directory: Path
    context: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.directory / "workspace"

    def __call__(self, workflow: str, job: str | None, name: str) -> subprocess.CompletedProcess[str]:
        """Run a step as the runner does: its script in a file, its shell as written."""
        one = step(workflow, job, name)
        script = self.directory / "script.sh"
        script.write_text(one.content["run"], encoding="utf-8")
        given = {key: written(filled(str(text), self.context)) for key, text in one.content.get("env", {}).items()}
        files = {key: str(self.directory / key) for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
        assert one.shell is not None
        return subprocess.run(
            [str(script) if word == "{0}" else word for word in one.shell.split()],
            cwd=self.workspace,
            env={**os.environ, **files, **self.environment, **given},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def output(self, name: str) -> str:
        lines = (self.directory / "GITHUB_OUTPUT").read_text(encoding="utf-8").splitlines()
        (value,) = [line.partition("=")[2] for line in lines if line.partition("=")[0] == name]
        return value


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """Return a directory with the `orchestrator` of this checkout, as the setup action puts it on PATH."""
    directory = tmp_path_factory.mktemp("bin")
    program = directory / "orchestrator"
    text = f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m orchestrator "$@"\n'
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return directory


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """Return another repository: a matrix and its probes."""
    directory = tmp_path_factory.mktemp("repository")
    house = Wheelhouse(tmp_path_factory.mktemp("house"))
    history.publish(house)
    shutil.copytree(ROOT / "tests" / "support" / "tiny_probes", directory / "probes")
    text = history.matrix_text(probes="probes", images=str(ROOT / "images"), index=house.url)
    (directory / "matrix.yaml").write_text(text, encoding="utf-8")
    return directory


@dataclass(frozen=True, kw_only=True)
class Call:
    """What one call of matrix.yml left."""

    entries: list[dict[str, Any]]
    artifacts: Path
    report: Runner
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def called(programs, repository, tmp_path_factory) -> Call:
    inputs = defaults("matrix.yml", **{"expression": EXPRESSION, "runtime": "venv", "max-jobs": 8})
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "UV_CACHE_DIR": str(tmp_path_factory.mktemp("uv")),
        "GITHUB_ACTIONS": "true",
    }

    def runner(name: str, **context: Any) -> Runner:
        directory = tmp_path_factory.mktemp(name)
        shutil.copytree(repository, directory / "workspace")
        return Runner(directory=directory, context={"inputs": inputs, **context}, environment=environment)

    plan = runner("plan")
    done = plan("matrix.yml", "plan", "List the shards")
    assert done.returncode == 0, done.stderr
    entries = json.loads(plan.output("matrix"))["include"]
    artifacts = tmp_path_factory.mktemp("artifacts")
    for entry in entries:
        job = runner("run", matrix=entry)
        done = job("matrix.yml", "run", "Measure")
        assert done.returncode == 0, done.stderr
        upload = step("matrix.yml", "run", "Upload the results").content["with"]
        name = filled(upload["name"], job.context)
        shutil.copytree(job.workspace / upload["path"], artifacts / name)
    report = runner("report")
    (download,) = (
        one.content["with"]
        for one in workflows.steps()
        if (one.file.name, one.job) == ("matrix.yml", "report")
        and "download-artifact" in one.content.get("uses", "")
    )
    found = sorted(artifacts.glob(filled(download["pattern"], report.context)))
    assert len(found) == len(entries)
    assert download["merge-multiple"] is True
    for artifact in found:
        shutil.copytree(artifact, report.workspace / download["path"], dirs_exist_ok=True)
    done = report("matrix.yml", "report", "Merge and report")
    return Call(entries=entries, artifacts=artifacts, report=report, done=done)


def test_every_entry_has_what_the_workflow_reads(called) -> None:
    assert len(called.entries) > 1, "a rehearsal of one shard shows little"
    for entry in called.entries:
        assert entry["id"][0].isdigit(), "the pattern of the download asks for it"
        assert isinstance(entry["runner"], list)
        assert isinstance(entry["timeout"], int)
        assert entry["name"]
        assert entry["shard"]


def test_artifacts_take_what_is_uploaded(called) -> None:
    names = [path.relative_to(called.artifacts).as_posix() for path in called.artifacts.rglob("*")]
    assert names
    assert not [name for name in names if set(name) & set('":<>|*?\r\n')], "GitHub refuses these"
    assert not [path for path in called.artifacts.rglob("*") if path.is_symlink()]


def test_the_report_job_judges(called) -> None:
    assert called.done.returncode == 1, called.done.stderr
    assert "::error title=Regression%3A crash::" in called.done.stdout
    summary = (called.report.directory / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8")
    assert "crash" in summary
    written = called.report.workspace / "report"
    assert {path.name for path in written.iterdir()} == {"index.html", "report.json", "junit.xml", "badge.svg"}
    results = json.loads((written / "report.json").read_text(encoding="utf-8"))["results"]
    (crash,) = (one for one in results if one["issue"] == "crash")
    assert [(one["kind"], one["after"], one["version"]) for one in crash["transitions"]] == [
        ("introduced", "1.7", "1.8")
    ]


def test_what_the_run_before_had_is_no_news(called, tmp_path) -> None:
    before = called.report.workspace
    (tmp_path / "workspace" / "merged").mkdir(parents=True)
    shutil.copytree(before / "merged" / "runs", tmp_path / "workspace" / "merged" / "runs")
    for name in ("shards", "probes"):
        shutil.copytree(before / name, tmp_path / "workspace" / name)
    (record,) = (tmp_path / "workspace" / "merged" / "runs").iterdir()
    for number in range(40):
        shutil.copy(record, record.with_name(f"20200101T0000{number:02}.000000Z.json"))
    record.unlink()  # the same moment: a run is not before itself
    again = Runner(directory=tmp_path, context=called.report.context, environment=called.report.environment)
    done = again("matrix.yml", "report", "Merge and report")
    assert done.returncode == 1, done.stderr
    assert "::error" not in done.stdout
    assert "since the run of" in done.stdout
    kept = sorted(path.name for path in record.parent.iterdir())
    assert (len(kept), kept[-1]) == (31, record.name)
    assert kept[0] == "20200101T000010.000000Z.json", "the oldest go first"


def test_no_result_at_all_is_incomplete(called, tmp_path) -> None:
    runs = tmp_path / "workspace" / "merged" / "runs"
    runs.mkdir(parents=True)
    (runs / "20200101T000000.000000Z.json").write_text("{}")
    lonely = Runner(directory=tmp_path, context=called.report.context, environment=called.report.environment)
    done = lonely("matrix.yml", "report", "Merge and report")
    assert (done.returncode, done.stdout) == (4, "::error::no job left any results\n")
    assert not runs.exists(), "an older record is not to be announced as this run's"


def test_shards_that_cannot_be_joined_leave_no_record(called, tmp_path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "shards" / "1-of-2").mkdir(parents=True)
    shutil.copytree(called.report.workspace / "merged" / "runs", workspace / "merged" / "runs")
    broken = Runner(directory=tmp_path, context=called.report.context, environment=called.report.environment)
    assert broken("matrix.yml", "report", "Merge and report").returncode == 2
    assert not (workspace / "merged").exists()


def test_issues_are_opened_once(called, programs, tmp_path) -> None:
    hub = Hub.made(tmp_path / "hub")
    (tmp_path / "job").mkdir()
    shutil.copytree(called.report.workspace, tmp_path / "job" / "workspace")
    github = {"token": "t", "repository": "o/r"}
    environment = {"PATH": f"{hub.bin}:{programs}:{os.environ['PATH']}", "FAKE_GH": str(hub.file)}
    context = {"inputs": defaults("announce.yml"), "github": github}
    job = Runner(directory=tmp_path / "job", context=context, environment=environment)
    done = job("announce.yml", "announce", "Announce")
    assert done.returncode == 0, done.stderr
    assert "open crash in tiny: https://github.com/o/r/issues/" in done.stdout
    (issue,) = (one for one in hub.issues if one["title"].startswith("crash"))
    assert "def test_crash" in issue["body"], "the source of the probe is told"
    assert job("announce.yml", "announce", "Announce").stdout == "nothing to announce\n"


def test_setup_puts_the_program_of_its_own_commit_on_path(tmp_path) -> None:
    checkout = tmp_path / "checkout"
    for name in ("orchestrator", ".github"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    (tmp_path / "workspace").mkdir()
    environment = {
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_ACTION_PATH": str(checkout / ".github" / "actions" / "setup"),
        "PIP_NO_DEPS": "1",  # what it requires is here already, and would take a minute
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    context = {"steps": {"python": {"outputs": {"python-path": sys.executable}}}}
    before = sorted(checkout.rglob("*"))
    (tmp_path / "temp").mkdir()
    done = Runner(directory=tmp_path, context=context, environment=environment)("action.yml", None, "Install")
    assert done.returncode == 0, done.stderr
    (added,) = (tmp_path / "GITHUB_PATH").read_text(encoding="utf-8").splitlines()
    assert [path.name for path in Path(added).iterdir()] == ["orchestrator"], (
        "its Python is not to hide another one"
    )
    assert done.stdout.splitlines()[-1].startswith("orchestrator, version ")
    assert len([*(tmp_path / "temp").glob("*/lib/*/site-packages/orchestrator/cli/run.py")]) == 1
    assert sorted(checkout.rglob("*")) == before, "an action is shared by the jobs of a runner"


def test_the_run_before_is_asked_for_by_name_and_branch(tmp_path) -> None:
    run = {"id": 30, "head_branch": "main", "head_repository_id": 7, "repository_id": 7}
    listed = {"artifacts": [{"id": 3, "expired": False, "workflow_run": run}], "total_count": 1}
    program = tmp_path / "gh"
    program.write_text(f"#!/bin/sh\necho \"$@\" > asked\ncat <<'E'\n{json.dumps(listed)}\nE\n", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "workspace").mkdir()
    action = str(ROOT / ".github" / "actions" / "before")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GITHUB_ACTION_PATH": action}
    context = {"inputs": {"name": "run-matrix", "branch": "main", "token": "t"}, "github": {"repository": "o/r"}}
    job = Runner(directory=tmp_path, context=context, environment=environment)
    done = job("action.yml", None, "Look")
    assert done.returncode == 0, done.stderr
    assert (job.output("artifact"), job.output("run")) == ("3", "30")
    asked = (job.workspace / "asked").read_text(encoding="utf-8")
    assert asked == "api --method GET repos/o/r/actions/artifacts -f name=run-matrix -F per_page=100\n"


def test_bisect_takes_what_is_given(programs, tmp_path) -> None:
    """Its arguments go through the command line's own parser; what there is to search is told by the matrix."""
    recorder = tmp_path / "orchestrator"
    recorder.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    recorder.chmod(0o755)
    (tmp_path / "workspace").mkdir()
    inputs = {"issue": "crash; $(touch owned)", "good": "1.7", "bad": "1.8", "find-fix": True, "nightlies": False}
    context = {"inputs": {**defaults("bisect.yml"), **inputs}}
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = Runner(directory=tmp_path, context=context, environment=environment)("bisect.yml", "bisect", "Bisect")
    assert done.returncode == 0, done.stderr
    name, *arguments = done.stdout.splitlines()
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    with command.make_context(name, arguments) as parsed:
        given = parsed.params
    assert (given["issue"], str(given["matrix"])) == ("crash; $(touch owned)", "matrix.yaml")
    assert (str(given["good"]), str(given["bad"]), given["stack"]) == ("1.7", "1.8", None)
    assert (given["find_fix"], given["nightlies"]) == (True, False)
    assert "html:report/index.html" in given["reports"]
    assert not (tmp_path / "workspace" / "owned").exists()


def test_bisect_by_hand_and_by_call_ask_the_same() -> None:
    events = workflows.load(ROOT / ".github" / "workflows" / "bisect.yml")["on"]
    by_hand, by_call = (events[name]["inputs"] for name in ("workflow_dispatch", "workflow_call"))
    assert by_hand == {name: one for name, one in by_call.items() if name not in ("environment", "name")}
