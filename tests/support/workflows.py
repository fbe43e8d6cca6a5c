"""The files below .github as tests look at them: workflows, actions, and every step in either."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
WORKFLOWS = tuple(sorted((ROOT / ".github" / "workflows").glob("*.yml")))
ACTIONS = tuple(sorted((ROOT / ".github" / "actions").glob("*/action.yml")))


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a job, or of an action, whose `job` is then None."""

    file: Path
    job: str | None
    number: int
    content: dict[str, Any]
    shell: str | None
    """Of its script, the default of the workflow included."""

    @property
    def id(self) -> str:
        return f"{self.file.parent.name}/{self.file.name}:{self.job}:{self.number}"


def load(path: Path) -> dict[str, Any]:
    """Read a file; the key `on`, which YAML 1.1 takes for a truth value, is `on`."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if True in document:
        document["on"] = document.pop(True)
    return document


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    return load(path)["jobs"]


def steps() -> Iterator[Step]:
    for path in WORKFLOWS:
        shell = load(path).get("defaults", {}).get("run", {}).get("shell")
        for name, job in jobs(path).items():
            for number, step in enumerate(job.get("steps", ())):
                yield Step(file=path, job=name, number=number, content=step, shell=step.get("shell", shell))
    for path in ACTIONS:
        for number, step in enumerate(load(path)["runs"]["steps"]):
            yield Step(file=path, job=None, number=number, content=step, shell=step.get("shell"))


def step(workflow: str, job: str | None, name: str) -> Step:
    """Return a step by its name; one of an action has no job."""
    (found,) = (
        one for one in steps() if (one.file.name, one.job, one.content.get("name")) == (workflow, job, name)
    )
    return found


def defaults(workflow: str, **given: Any) -> dict[str, Any]:
    """Return the inputs that a called workflow has where only some are given."""
    (path,) = (one for one in WORKFLOWS if one.name == workflow)
    declared = load(path)["on"]["workflow_call"]["inputs"]
    unknown = given.keys() - declared.keys()
    assert not unknown, f"{workflow} has no input {unknown}"
    return {name: given.get(name, one.get("default")) for name, one in declared.items()}
