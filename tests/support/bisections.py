"""A matrix to bisect in, `bisect` as people call it, and its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import search_history as history
from search_history import orchestrator
from wheelhouse import Wheelhouse

if TYPE_CHECKING:
    from pathlib import Path


def write_releases(directory: Path) -> Path:
    """Write a project with sixteen releases on an axis; the index has more."""
    house = Wheelhouse(directory / "house")
    history.publish(house, directory / "counter")
    names = ("regression", "mended", "never")
    issues = {
        name: f'title: {name}, subject: {{tiny: tinylib}}, probes: ["test_tinylib.py::test_{name}"]'
        for name in names
    }
    both = 'title: b, subject: {tiny: tinylib, other: tinylib}, probes: ["test_tinylib.py::test_regression"]'
    history.write_project(
        directory,
        "tinylib",
        names,
        indexes={"house": house.url},
        packages={"tinylib": 'repository: "https://example.org/tinylib", indexes: {cpu: [house]}'},
        stacks={
            "tiny": 'device: cpu, axes: {tinylib: ">=1.10,<1.26"}',
            "other": 'device: cpu, axes: {tinylib: ["1.17", "1.18"]}',
        },
        issues={**issues, "both": both},
    )
    return directory


def bisect(project: Path, issue: str, *options: str, store: str = "store") -> tuple[int, str, str, dict]:
    """Return the exit code, both outputs, and the one result with its evidence; empty where there is no report."""
    file = project / f"{store}-{issue}.json"
    file.unlink(missing_ok=True)
    done = orchestrator(
        "bisect", issue, *options, "--store", store, "--report", "text", "--report", f"json:{file}", cwd=project
    )
    found: dict = {}
    if file.exists():
        report = json.loads(file.read_text(encoding="utf-8"))
        ((result,), (evidence,)) = report["results"], report["evidence"]
        found = {**report, "result": result, "told": evidence}
    return done.returncode, " ".join(done.stdout.split()), done.stderr, found


def changes(found: dict) -> list[tuple]:
    """Return every change of state that was found."""
    return [(t["kind"], t["after"], t["version"], t["untested"]) for t in found["result"]["transitions"]]


def answer(stderr: str) -> str:
    """Return the line that people read."""
    return stderr.splitlines()[-1]
