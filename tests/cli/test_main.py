"""The command line as users meet it, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "run",
    "bisect",
    "simulate",
    "list",
    "plan",
    "build",
    "explain",
    "merge",
    "report",
    "announce",
    "show",
    "compare",
    "history",
    "plot",
    "repro",
    "shell",
    "doctor",
    "images",
    "prune",
    "bundle",
    "schema",
)


def orchestrator(*arguments, cwd=ROOT, **environment):
    return subprocess.run(
        [sys.executable, "-m", "orchestrator", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_names_the_commands_and_the_exit_codes():
    done = orchestrator("--help")
    assert done.returncode == 0
    for word in (*COMMANDS, "Exit codes:", "130  interrupted"):
        assert word in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    assert orchestrator(command, "--help").returncode == 0


def test_list_shows_every_cell_of_the_shipped_matrix(tmp_path):
    done = orchestrator("list", str(ROOT / "matrix.yaml"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "torch-cpu-py3.11-torch2.1.2" in done.stdout
    assert "ipex-xpu-py3.10-ipex2.1.20-xpu" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_list_as_json_is_for_programs():
    done = orchestrator("list", "--stack", "xla-cpu", "--format", "json")
    cells = json.loads(done.stdout)
    assert [cell["requires"] for cell in cells] == [
        {"torch_xla": "==2.5.1", "torch": "==2.5.*"},
        {"torch_xla": "==2.6.0", "torch": "==2.6.*"},
    ]


def test_schema_is_the_shipped_file():
    shipped = (ROOT / "docs" / "reference" / "matrix.schema.json").read_text(encoding="utf-8")
    assert json.loads(orchestrator("schema").stdout) == json.loads(shipped)


def test_explain_of_an_excluded_cell_needs_nothing_from_outside(tmp_path):
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes" / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    (tmp_path / "matrix.yaml").write_text(
        """\
version: 1
bases: {"3.11": {image: "python:3.11-slim"}}
packages: {tinylib: {}}
stacks:
  tiny: {device: cpu, axes: {tinylib: ["1.0", "2.0"]}, exclude: [{tinylib: "2.0", reason: it was never built}]}
issues: {it: {title: it, probes: ["test_it.py::test_it"], subject: {tiny: tinylib}}}
""",
        encoding="utf-8",
    )
    done = orchestrator("explain", "tiny-py3.11-tinylib2.0", "--runtime", "venv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "excluded: it was never built" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "no-such.yaml"], 2, "no-such.yaml"),
        (["run", "--jobs", "0"], 2, "neither 'auto' nor a number"),
        (["run", "--report", "yaml"], 2, "'yaml' is not one of"),
        (["run", "--search", "adaptive", "--budget", "soon"], 2, "neither a number of cells like 20cells"),
        (["bisect", "torch-dot-half", "--good", "newest"], 2, "newest"),
        (["bisect", "torch-dot-halb", "--runtime", "venv"], 2, "did you mean 'torch-dot-half'"),
        (["list", "-k", "torch>="], 2, "-k: column 1"),
        (["list", "--stack", "torch-cup"], 2, "did you mean 'torch-cpu'"),
        (["list", "-s", "nothing-like-this"], 3, "no cell is selected"),
        (["run", "-s", "nothing-like-this", "--runtime", "venv"], 3, "no cell is selected"),
        (
            ["explain", "torch-cpu-py3.11-torch2.1.3", "--runtime", "venv"],
            2,
            "did you mean 'torch-cpu-py3.11-torch2.1.",
        ),
        (["report", "--store", "/nonexistent/store"], 2, "there is no run in"),
        (["run", "--runtime", "docker"], 5, "Docker"),
    ],
)
def test_a_mistake_is_one_error_with_its_exit_code(arguments, code, said):
    done = orchestrator(*arguments, DOCKER_HOST="unix:///nonexistent.sock")
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_every_config_error_at_once_at_its_place(tmp_path):
    (tmp_path / "matrix.yaml").write_text(
        "version: 1\npackages: {torch: {}}\nstacks:\n  s: {device: cpu, axes: {torch: [2.10]}}\nissue: {}\n",
        encoding="utf-8",
    )
    done = orchestrator("run", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "matrix.yaml:1:1: bases: missing",
        "matrix.yaml:4:35: stacks.s.axes.torch.0: "
        'versions must be strings: write "2.10" (unquoted, YAML reads it as the number 2.1)',
        'matrix.yaml:5:1: issue: unknown key; did you mean "issues"?',
        "error: 3 problems in the matrix",
        "hint: docs/reference/matrix.md describes every key",
    ]
