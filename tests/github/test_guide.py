"""The workflows that the guide shows: as good as ours, and no longer than it says."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml

from workflows import ROOT, WORKFLOWS, defaults, load

GUIDE = (ROOT / "docs" / "guides" / "github-actions.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
NIGHTLY, MORE, STACK, BISECT, STEPS = SNIPPETS
CONCRETE = {"OWNER": "octo", "COMMIT": "0123456789abcdef0123456789abcdef01234567"}
WHOLE = {
    "nightly": NIGHTLY,
    "nightly-and-more": NIGHTLY + MORE,
    "bisect": BISECT,
    "steps": "name: Steps\non: push\npermissions: {}\njobs:\n  it:\n    runs-on: ubuntu-24.04\n    permissions:\n"
    "      contents: read\n" + re.sub("^", "    ", STEPS, flags=re.MULTILINE),
}


@pytest.fixture(params=WHOLE)
def workflow(request, tmp_path) -> Path:
    text = WHOLE[request.param]
    for name, value in CONCRETE.items():
        text = text.replace(name, value)
    path = tmp_path / ".github" / "workflows" / f"{request.param}.yml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def run(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [Path(sysconfig.get_path("scripts"), program), *arguments],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_ten_lines() -> None:
    assert len(NIGHTLY.splitlines()) == 10


def test_tools_have_nothing_to_say(workflow) -> None:
    run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(workflow))
    run("actionlint", "-shellcheck=", "-pyflakes=", str(workflow))
    run("zizmor", "--offline", "--no-progress", "--no-config", "--strict-collection", str(workflow))


def test_calls_give_what_is_taken_and_permit_what_is_needed(workflow) -> None:
    calls = [job for job in load(workflow)["jobs"].values() if "uses" in job]
    for call in calls:
        name = re.fullmatch(r"octo/matrix-orchestrator/\.github/workflows/(\w+\.yml)@[0-9a-f]{40}", call["uses"])
        assert name is not None
        defaults(name[1], **call.get("with", {}))
        (called,) = (path for path in WORKFLOWS if path.name == name[1])
        for job in load(called)["jobs"].values():
            missing = job["permissions"].items() - call["permissions"].items()
            assert not missing, (
                "GitHub starts no workflow that calls another one with fewer rights than that asks for"
            )


def test_our_own_night_is_the_one_that_is_shown() -> None:
    ours = load(ROOT / ".github" / "workflows" / "nightly.yml")["jobs"]
    shown = yaml.safe_load(NIGHTLY + MORE)["jobs"]
    assert ours.keys() == shown.keys()
    for name, job in shown.items():
        file = job["uses"].partition("@")[0].rpartition("/")[2]
        assert ours[name]["uses"] == f"$/.github/workflows/{file}"
        for key in ("needs", "if", "permissions"):
            assert ours[name].get(key) == job.get(key), f"{name}.{key}"


@pytest.mark.parametrize(("workflow_name", "table"), [("matrix.yml", "input of `matrix.yml`")])
def test_every_input_is_told(workflow_name, table) -> None:
    rows = GUIDE.partition(f"| {table} |")[2].partition("\n\n")[0]
    told = {
        name
        for row in rows.splitlines()
        for name in re.findall(r"`([\w-]+)`", row.split("|")[1] if "|" in row else "")
    }
    assert told == defaults(workflow_name).keys()


def test_every_input_of_bisect_is_told() -> None:
    section = GUIDE.partition("## Bisect by hand")[2].partition("\n## ")[0]
    assert [name for name in defaults("bisect.yml") if name not in section] == []


def test_artifacts_are_named_as_they_are() -> None:
    names = re.findall(r"name: ([\w-]+)-\$\{\{ inputs\.name", (ROOT / ".github/workflows/matrix.yml").read_text())
    assert sorted(set(names)) == ["report", "results", "run"]
    assert all(f"`{name}-matrix" in GUIDE for name in names)


def test_the_matrix_says_where_a_stack_runs() -> None:
    (stack,) = yaml.safe_load(STACK)["stacks"].values()
    assert stack["device"] == "xpu"
    assert "self-hosted" in stack["runner"]
