"""What holds for every workflow and action: pinned, without rights it does not need, bounded in time."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from workflows import ACTIONS, ROOT, WORKFLOWS, Step, jobs, load, steps

STEPS = tuple(steps())
FILES = (*WORKFLOWS, *ACTIONS)
EVERY_JOB = [pytest.param(path, name, id=f"{path.stem}:{name}") for path in WORKFLOWS for name in jobs(path)]
STRICT = "bash --noprofile --norc -euo pipefail {0}"

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
every_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
every_job = pytest.mark.parametrize(("path", "job"), EVERY_JOB)
every_step = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)


def test_there_are_some() -> None:
    assert {path.stem for path in WORKFLOWS} == {"ci", "matrix", "nightly", "bisect", "pages", "announce"}
    assert [path.parent.name for path in ACTIONS] == ["before", "setup"]


@every_file
def test_every_action_is_pinned_and_says_its_version(path) -> None:
    uses = re.findall(r"^\s*(?:- )?uses: *(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert uses
    for one in uses:
        pinned = re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)
        assert pinned or one.startswith("$/"), one


def test_one_version_of_every_action() -> None:
    pins = {one.content["uses"] for one in STEPS if "@" in one.content.get("uses", "")}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins}), sorted(pins)


@every_file
def test_references_to_this_repository_are_there(path) -> None:
    for one in re.findall(r"uses: *\$/(\S+)", path.read_text(encoding="utf-8")):
        assert (ROOT / one).is_file() or (ROOT / one / "action.yml").is_file(), one


@every_workflow
def test_nothing_is_permitted_but_what_a_job_names(path) -> None:
    assert load(path)["permissions"] == {}
    assert all("permissions" in job for job in jobs(path).values())


def test_who_may_write() -> None:
    writes = {
        (path.stem, name, scope)
        for path in WORKFLOWS
        for name, job in jobs(path).items()
        for scope, right in job["permissions"].items()
        if right != "read"
    }
    assert writes == {
        ("announce", "announce", "issues"),
        ("nightly", "issues", "issues"),
        ("nightly", "pages", "id-token"),
        ("nightly", "pages", "pages"),
        ("pages", "deploy", "id-token"),
        ("pages", "deploy", "pages"),
    }


@every_workflow
def test_runs_of_one_kind_do_not_pile_up(path) -> None:
    assert load(path)["concurrency"].keys() == {"group", "cancel-in-progress"}


def test_no_two_workflows_wait_for_each_other() -> None:
    groups = [load(path)["concurrency"]["group"] for path in WORKFLOWS]
    assert len({group.partition("${{")[0] for group in groups}) == len(groups), groups


@every_job
def test_every_job_ends(path, job) -> None:
    content = jobs(path)[job]
    assert ("timeout-minutes" in content) != ("uses" in content), "a call is bounded by the jobs that it calls"


@every_step
def test_no_value_is_pasted_into_a_script(step: Step) -> None:
    assert "${{" not in step.content.get("run", "")


@every_step
def test_scripts_are_strict(step: Step) -> None:
    if "run" in step.content:
        assert step.shell == STRICT


@every_step
def test_no_credentials_stay(step: Step) -> None:
    if step.content.get("uses", "").startswith("actions/checkout@"):
        assert step.content["with"]["persist-credentials"] is False


@every_step
def test_no_cache_that_a_pull_request_could_poison(step: Step) -> None:
    assert not step.content.get("uses", "").startswith("actions/cache")
    assert "cache" not in step.content.get("with", {})


def test_no_trigger_that_gives_foreign_code_rights() -> None:
    for path in WORKFLOWS:
        assert not {"pull_request_target", "workflow_run", "issue_comment"} & load(path)["on"].keys()


def test_no_secrets_are_handed_on() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert "secrets" not in text, path


@every_workflow
def test_names_of_artifacts_are_unique(path) -> None:
    """One that runs several times in a workflow, as a matrix or by several calls, has what differs in its name."""
    names = []
    for one in STEPS:
        if one.file != path or not one.content.get("uses", "").startswith("actions/upload-artifact@"):
            continue
        name = one.content["with"]["name"]
        names.append(name)
        assert "inputs.name" in name
        if "matrix" in jobs(path)[one.job].get("strategy", {}):
            assert "matrix.id" in name
        assert one.content["with"]["overwrite"] is True, "a job that is run again finds its own"
    assert max(Counter(names).values(), default=1) == 1
