"""Find the newest artifact of a branch in what GitHub's API lists, from standard input; print it as outputs."""

from __future__ import annotations

import json
import sys
from typing import Any


def newest(listed: dict[str, Any], branch: str) -> dict[str, str]:
    """Return artifact and run, or nothing. One of a fork is none of ours, whatever its branch is called."""
    found = [
        one
        for one in listed["artifacts"]
        if not one["expired"]
        and (run := one["workflow_run"]) is not None
        and run["head_branch"] == branch
        and run["head_repository_id"] == run["repository_id"]
    ]
    if not found:
        return {}
    last = max(found, key=lambda one: int(one["id"]))
    return {"artifact": str(int(last["id"])), "run": str(int(last["workflow_run"]["id"]))}


if __name__ == "__main__":
    for name, value in newest(json.load(sys.stdin), sys.argv[1]).items():
        sys.stdout.write(f"{name}={value}\n")
