"""The whole line, from matrix.yaml to the answer, in both runtimes, on histories whose answers are known."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import history
from wheelhouse import Wheelhouse

ROOT = Path(__file__).parents[2]
RUNTIMES = ["venv", pytest.param("docker", marks=pytest.mark.engine)]


def orchestrator(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "UV_CACHE_DIR": str(cwd / "uv")}
    return subprocess.run(
        [sys.executable, "-m", "orchestrator", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("project")
    house = Wheelhouse(directory / "house")
    history.publish(house)
    shutil.copytree(ROOT / "tests" / "support" / "tiny_probes", directory / "probes")
    text = history.matrix_text(probes="probes", images=str(ROOT / "images"), index=house.url)
    (directory / "matrix.yaml").write_text(text, encoding="utf-8")
    return directory


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(request):
    if request.param == "docker":
        request.getfixturevalue("layers_are_removed")
    return request.param


@pytest.fixture(scope="module")
def first_run(project, runtime):
    store = project / f"store-{runtime}"
    done = orchestrator(
        "run", "--runtime", runtime, "--store", str(store), "--jobs", "4", "--report", f"json:{store}.json",
        "--report", "text", cwd=project,
    )  # fmt: skip
    return store, done


@pytest.fixture(scope="module")
def answers(first_run):
    store, done = first_run
    assert Path(f"{store}.json").exists(), done.stderr
    results = json.loads(Path(f"{store}.json").read_text(encoding="utf-8"))["results"]
    return {result["issue"]: result for result in results}


def test_the_run_ends_as_expected(first_run):
    _, done = first_run
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.parametrize("issue", history.ANSWERS)
def test_every_transition_and_the_state(answers, issue):
    state, transitions = history.ANSWERS[issue]
    found = [(t["kind"], t["after"], t["version"], t["untested"]) for t in answers[issue]["transitions"]]
    assert found == transitions
    assert answers[issue]["state"] == state


@pytest.mark.parametrize(("issue", "version"), history.OUTCOMES)
def test_every_way_to_fail_is_told_apart(answers, issue, version):
    outcome, signature = history.OUTCOMES[issue, version]
    cell = answers[issue]["cells"][version]
    assert cell["outcome"] == outcome
    if signature is None:
        assert cell["signature"] is None
    else:
        assert cell["signature"].startswith(signature)


def test_all_releases_are_there(answers):
    for result in answers.values():
        assert list(result["cells"]) == list(history.RELEASES)
        assert result["fixed"] == {}


def test_the_resolver_says_why_the_pair_cannot_be(answers):
    assert "tinydep>=2" in answers["always"]["cells"][history.UNRESOLVABLE]["signature"]


def test_a_fix_links_to_its_commits_and_names_its_culprit(answers):
    fixed = answers["fixed"]["transitions"][1]
    assert fixed["compare"] == "https://example.org/tinylib/compare/v1.6...v1.7"
    assert fixed["culprit"] == ["tinylib"]
    assert 0.9 < fixed["confidence"] < 1.0


def test_a_second_run_executes_nothing_and_says_the_same(project, runtime, first_run, answers):
    store, _ = first_run
    attempts = sorted((store / "attempts").iterdir())
    done = orchestrator(
        "run", "--runtime", runtime, "--store", str(store), "--report", f"json:{store}-2.json", cwd=project
    )
    assert done.returncode == 0, done.stderr
    assert sorted((store / "attempts").iterdir()) == attempts
    assert "every result is known already" in done.stderr
    again = json.loads(Path(f"{store}-2.json").read_text(encoding="utf-8"))["results"]
    assert {result["issue"]: result for result in again} == answers


def test_the_report_of_the_run_can_be_shown_again(project, first_run, answers):
    store, _ = first_run
    done = orchestrator("report", "--store", str(store), "--format", "json", cwd=project)
    assert done.returncode == 0, done.stderr
    assert {r["issue"]: r for r in json.loads(done.stdout)["results"]} == answers


def test_a_new_probe_runs_only_itself(project, runtime, first_run):
    """A second probe file leaves the results of the first as they are."""
    store, _ = first_run
    attempts = set((store / "attempts").iterdir())
    extra = project / f"extra-{runtime}"
    shutil.copytree(project / "probes", extra / "probes")
    (extra / "probes" / "test_more.py").write_text("def test_more():\n    import tinylib\n", encoding="utf-8")
    text = (project / "matrix.yaml").read_text(encoding="utf-8")
    text += '  more: {title: more, subject: {tiny: tinylib}, probes: ["test_more.py::test_more"]}\n'
    (extra / "matrix.yaml").write_text(text, encoding="utf-8")
    done = orchestrator(
        "run", str(extra / "matrix.yaml"), "--runtime", runtime, "--store", str(store), "-k", "tinylib<1.2",
        cwd=project,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    new = set((store / "attempts").iterdir()) - attempts
    assert len(new) == 2
    for attempt in new:
        assert json.loads((attempt / "in" / "job.json").read_text())["nodeids"] == ["test_more.py::test_more"]


def test_nothing_is_left_behind(runtime, first_run):
    if runtime != "docker":
        pytest.skip("containers only")
    from docker import DockerClient

    client = DockerClient.from_env(version="auto")
    try:
        left = client.containers.list(all=True, filters={"label": "io.orchestrator.tool=matrix-orchestrator"})
        assert left == []
    finally:
        client.close()


def test_an_interrupted_run_keeps_what_was_measured_and_the_next_goes_on(project):
    """Ctrl-C once: running probes are ended, the report of what is known is written, the exit code says 130."""
    store = project / "store-interrupted"
    command = [sys.executable, "-m", "orchestrator", "run", "--runtime", "venv", "--store", str(store)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "UV_CACHE_DIR": str(project / "uv")}
    with subprocess.Popen(
        [*command, "--jobs", "1", "--issue", "hang", "--report", f"json:{store}.json"],
        cwd=project,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "1 pass" in line:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
        assert process.wait(60) == 130
    assert "the same command goes on from there" in rest
    (result,) = json.loads(Path(f"{store}.json").read_text(encoding="utf-8"))["results"]
    outcomes = [cell["outcome"] for cell in result["cells"].values()]
    assert "pass" in outcomes
    assert "not-run" in outcomes
    measured = outcomes.count("pass")
    done = orchestrator(
        "run", "--runtime", "venv", "--store", str(store), "--issue", "hang", "-k", "tinylib<1.4", cwd=project
    )
    assert done.returncode == 0, done.stderr
    assert f"measuring {4 - measured} of 4 cells" in done.stderr


def test_the_command_that_explain_prints_can_be_run(project, runtime, first_run):
    store, _ = first_run
    done = orchestrator(
        "explain", "tiny-py3.11-tinylib1.7", "--runtime", runtime, "--store", str(store), cwd=project
    )
    assert done.returncode == 0, done.stderr
    assert "tinydep follows tinylib: ==1.0" in done.stdout
    assert "from house" in done.stdout
    command = shlex.split(done.stdout.splitlines()[-1])
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert again.returncode == 1, again.stderr
    assert "3 failed" in again.stdout


def test_a_cell_is_repeated_by_hand(project, runtime, first_run):
    """Its exit status is the probes' own, and nothing is recorded."""
    store, _ = first_run
    options = ("--runtime", runtime, "--store", str(store))
    results = sorted(path.read_bytes() for path in (store / "results").rglob("*.jsonl"))
    bad = orchestrator("repro", "tiny-py3.11-tinylib1.5", "--issue", "introduced", "--run", *options, cwd=project)
    assert bad.returncode == 1, bad.stderr
    assert "broken since somebody" in bad.stdout
    assert "1 failed" in bad.stdout
    good = orchestrator("repro", "tiny-py3.11-tinylib1.4", "--issue", "introduced", "--run", *options, cwd=project)
    assert good.returncode == 0, good.stderr + good.stdout
    printed = orchestrator("repro", "tiny-py3.11-tinylib1.4", "--issue", "introduced", *options, cwd=project)
    assert printed.stdout in good.stderr
    assert sorted(path.read_bytes() for path in (store / "results").rglob("*.jsonl")) == results


def test_a_shell_has_what_is_locked(project, runtime, first_run):
    store, _ = first_run
    command = [sys.executable, "-m", "orchestrator", "shell", "tiny-py3.11-tinylib1.5"]
    done = subprocess.run(
        [*command, "--runtime", runtime, "--store", str(store)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SECRET_TOKEN": "hidden"},
        input="python -c 'import tinylib; print(tinylib.__version__)'\nenv\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines()[0] == "1.5", done.stderr
    assert "SECRET_TOKEN" not in done.stdout
    assert "the probes run again with: " in done.stderr


def test_what_is_known_is_shown_compared_and_told_over_time(project, runtime, first_run):
    store, _ = first_run
    (name,) = (path.stem for path in sorted((store / "runs").glob("*.json"))[:1])
    shown = orchestrator("show", "tiny-py3.11-tinylib1.5", name, "--store", str(store), cwd=project)
    assert shown.returncode == 0, shown.stderr
    assert f"runtime {runtime}" in shown.stdout
    assert "RuntimeError: broken since somebody" in shown.stdout
    assert "[probe] test_tiny.py::test_introduced" in Path(shown.stderr.split(": ", 1)[1].strip()).read_text()
    issue = orchestrator("show", "introduced", name, "--store", str(store), cwd=project)
    assert "1.5 (after 1.4)" in issue.stdout
    assert "repro tiny-py3.11-tinylib1.5 --issue introduced --run" in issue.stdout
    pasted = orchestrator("show", "introduced", name, "--store", str(store), "--format", "issue", cwd=project)
    assert "def test_introduced" in pasted.stdout, pasted.stderr
    same = orchestrator("compare", name, name, "--store", str(store), cwd=project)
    assert (same.returncode, same.stdout.endswith("nothing changed\n")) == (0, True)
    told = orchestrator("history", "introduced", "--store", str(store), cwd=project)
    assert told.returncode == 0, told.stderr
    assert "1.5 (after" in told.stdout  # in a narrow terminal the column is wrapped
    missing = orchestrator("show", "introducd", name, "--store", str(store), cwd=project)
    assert missing.returncode == 2
    assert "hint: did you mean 'introduced'?" in missing.stderr
