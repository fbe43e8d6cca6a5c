"""Where code of strangers may run: never on a runner that is not GitHub's own, and never with a right to write."""

from __future__ import annotations

import pytest

from expressions import filled
from workflows import ROOT, WORKFLOWS, defaults, jobs

GPU = ["self-hosted", "linux", "xpu"]
HERE, FORK = "o/r", "stranger/r"


def event(name: str, head: str | None = None) -> dict[str, object]:
    payload = {} if head is None else {"pull_request": {"head": {"repo": {"full_name": head}}}}
    return {"event_name": name, "event": payload, "repository": HERE}


TRUSTED = [event("push"), event("schedule"), event("workflow_dispatch"), event("pull_request", HERE)]
STRANGE = [
    event("pull_request", FORK),
    {"event_name": "pull_request", "event": {"pull_request": {"head": {"repo": None}}}, "repository": HERE},
    event("pull_request_target", FORK),
    event("pull_request_target", HERE),
    event("workflow_run"),
    event("issue_comment"),
    event("pull_request_review", HERE),
]
CHOSEN = [("matrix", "run"), ("bisect", "bisect")]


def placed(workflow: str, job: str, github: dict[str, object], runner: list[str]) -> tuple[object, object]:
    """Return runner and environment of a job."""
    content = jobs(ROOT / ".github" / "workflows" / f"{workflow}.yml")[job]
    inputs = defaults(
        f"{workflow}.yml", **({"runner": str(runner).replace("'", '"')} if workflow == "bisect" else {})
    )
    context = {"github": github, "inputs": inputs, "matrix": {"runner": runner}}
    return filled(content["runs-on"], context), filled(content["environment"], context)


@pytest.mark.parametrize(("workflow", "job"), CHOSEN)
@pytest.mark.parametrize("github", TRUSTED, ids=lambda one: one["event_name"])
def test_our_own_code_gets_the_runner_it_asks_for_behind_its_environment(workflow, job, github) -> None:
    assert placed(workflow, job, github, GPU) == (GPU, "gpu")
    assert placed(workflow, job, github, ["ubuntu-24.04"]) == (["ubuntu-24.04"], "")


@pytest.mark.parametrize(("workflow", "job"), CHOSEN)
@pytest.mark.parametrize("github", STRANGE, ids=lambda one: one["event_name"])
@pytest.mark.parametrize("runner", [GPU, ["xpu"], ["ubuntu-24.04", "xpu"]], ids=" ".join)
def test_code_of_strangers_gets_a_runner_of_githubs(workflow, job, github, runner) -> None:
    assert placed(workflow, job, github, runner) == ("ubuntu-24.04", "")


def test_a_label_beside_one_of_githubs_does_not_lead_past_the_environment() -> None:
    assert placed("matrix", "run", event("push"), ["xpu", "ubuntu-24.04"])[1] == "gpu"


def test_all_other_jobs_run_on_githubs_own() -> None:
    for path in WORKFLOWS:
        for name, job in jobs(path).items():
            if (path.stem, name) not in CHOSEN and "uses" not in job:
                assert job["runs-on"] == "ubuntu-24.04", f"{path.stem}:{name}"


@pytest.mark.parametrize(("workflow", "job"), [("pages", "deploy"), ("announce", "announce")])
def test_only_our_own_code_publishes(workflow, job) -> None:
    condition = jobs(ROOT / ".github" / "workflows" / f"{workflow}.yml")[job]["if"]
    assert [bool(filled(condition, {"github": one})) for one in TRUSTED] == [True, True, True, False]
    assert not any(filled(condition, {"github": one}) for one in STRANGE)


def test_in_bisect_by_hand_there_are_no_inputs_but_its_own() -> None:
    content = jobs(ROOT / ".github" / "workflows" / "bisect.yml")["bisect"]
    context = {"github": event("workflow_dispatch"), "inputs": {"runner": '["xpu"]'}}
    assert filled(content["environment"], context) == "gpu"
