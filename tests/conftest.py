"""What all tests share: container tests run where an engine answers, and must run where the CI says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

collect_ignore = ["support"]
"""Probes and modules that tests use; nothing in there is a test of this program."""


@pytest.fixture(scope="session")
def engine() -> None:
    """Skip without an engine, but never where ORCHESTRATOR_REQUIRE_ENGINE says that there is one."""
    from orchestrator.execute.docker import engine_missing

    reason = engine_missing()
    if reason is not None and os.environ.get("ORCHESTRATOR_REQUIRE_ENGINE"):
        pytest.fail(f"no Docker engine answers: {reason}")
    if reason is not None:
        pytest.skip(f"no Docker engine answers: {reason}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("engine") and isinstance(item, pytest.Function):
            item.fixturenames.insert(0, "engine")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give one process of `-n` the engine, for its tests look at all that is there; else keep files whole."""
    from xdist.scheduler import LoadScopeScheduling

    class ByEngineOrFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "engine" if file in with_engine else file

    with_engine = {
        path.relative_to(config.rootpath).as_posix()
        for path in Path(__file__).parent.rglob("test_*.py")
        if "mark.engine" in path.read_text(encoding="utf-8")
    }
    return ByEngineOrFile(config, log)
