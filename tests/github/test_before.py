"""Which earlier run a report is compared with."""

from __future__ import annotations

import importlib.util

import pytest

from workflows import ROOT

spec = importlib.util.spec_from_file_location("newest", ROOT / ".github" / "actions" / "before" / "newest.py")
assert spec is not None
assert spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def artifact(number: int, *, branch: str = "main", head: int = 7, expired: bool = False) -> dict:
    run = {"id": number * 10, "head_branch": branch, "head_repository_id": head, "repository_id": 7}
    return {"id": number, "expired": expired, "workflow_run": run}


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ([], {}),
        ([artifact(2), artifact(9), artifact(10)], {"artifact": "10", "run": "100"}),
        ([artifact(1), artifact(2, branch="other")], {"artifact": "1", "run": "10"}),
        ([artifact(1), artifact(2, head=8)], {"artifact": "1", "run": "10"}),
        ([artifact(1), artifact(2, expired=True)], {"artifact": "1", "run": "10"}),
        ([artifact(1, head=8), {**artifact(2), "workflow_run": None}], {}),
    ],
    ids=["none", "newest by number", "another branch", "a fork", "expired", "nothing that counts"],
)
def test_newest(listed, found) -> None:
    assert module.newest({"total_count": len(listed), "artifacts": listed}, "main") == found
