"""What other people's tools say of the workflows: nothing."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from typing import TYPE_CHECKING

import pytest

from workflows import ACTIONS, ROOT, WORKFLOWS, steps

if TYPE_CHECKING:
    from pathlib import Path

GIVEN = ("GITHUB_ACTION_PATH", "GITHUB_OUTPUT", "GITHUB_PATH", "RUNNER_TEMP", "PATH")
"""Variables that GitHub sets."""

SHELLCHECK = (
    "--shell=bash",
    "--severity=style",
    "--enable=check-unassigned-uppercase,quote-safe-variables,avoid-nullary-conditions,deprecate-which",
)

SCRIPTS = tuple(one for one in steps() if "run" in one.content)


def run(program: str, *arguments: str, text: str = "") -> str:
    """Run a program of this environment and return what it said; it has to be content."""
    found = shutil.which(program, path=sysconfig.get_path("scripts")) or shutil.which(program)
    assert found is not None, f"there is no {program}: install the extra `test`"
    done = subprocess.run(
        [found, *arguments], input=text, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-actions", ACTIONS),
        ("dependabot", (ROOT / ".github" / "dependabot.yml",)),
    ],
)
def test_schema(schema: str, files: tuple[Path, ...]) -> None:
    run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files))


def test_actionlint() -> None:
    # It looks for scripts' faults with shellcheck as well, but knows less of their variables than the test below.
    run("actionlint", "-shellcheck=", "-pyflakes=", *map(str, WORKFLOWS))


def test_zizmor_at_its_strictest() -> None:
    arguments = ("--offline", "--no-progress", "--no-config", "--strict-collection", "--persona", "auditor")
    said = run("zizmor", *arguments, str(ROOT / ".github"))
    assert "No findings to report" in said


def test_the_one_thing_that_zizmor_is_told_to_pass_over() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*WORKFLOWS, *ACTIONS)]
    ignored = [line for text in texts for line in text.splitlines() if "zizmor: ignore" in line]
    (line,) = ignored
    assert "ignore[github-env]" in line


@pytest.mark.parametrize("step", SCRIPTS, ids=lambda step: step.id)
def test_scripts_are_bash_without_a_complaint(step) -> None:
    script = step.content["run"]
    run("bash", "-n", text=script)
    known = (*step.content.get("env", {}), *GIVEN)
    run("shellcheck", *SHELLCHECK, "-", text="".join(f"export {name}=x\n" for name in known) + script)
