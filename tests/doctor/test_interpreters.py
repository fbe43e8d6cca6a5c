from __future__ import annotations

import sys
from threading import Event

import pytest

from orchestrator.doctor.finding import Level
from orchestrator.doctor.interpreters import InterpretersSeen, UvSeen, judge_interpreters, judge_uv
from orchestrator.doctor.world import interpreters as world_interpreters

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_uv_of_this_installation():
    found = judge_uv(world_interpreters.look_at_uv(Event()))
    assert (found.level, found.summary.startswith("uv ")) == (Level.OK, True)


@pytest.mark.parametrize(
    "seen", [UvSeen(path=None, trouble="gone"), UvSeen(path="/uv", trouble="exit status 127")]
)
def test_no_uv_stops_everything(seen):
    found = judge_uv(seen)
    assert found.stops == ("docker", "venv")
    assert seen.trouble in found.summary


def test_uv_that_is_missing_or_does_not_run(monkeypatch, tmp_path):
    def missing():
        raise FileNotFoundError("nowhere")

    monkeypatch.setattr(world_interpreters, "find_uv_bin", missing)
    assert world_interpreters.look_at_uv(Event()) == UvSeen(path=None, trouble="nowhere")
    monkeypatch.setattr(world_interpreters, "find_uv_bin", lambda: "/uv")
    monkeypatch.setattr("orchestrator.uv.find_uv_bin", lambda: str(tmp_path))
    assert "cannot be started" in world_interpreters.look_at_uv(Event()).trouble


@pytest.mark.parametrize(
    ("found", "downloads", "levels", "stops"),
    [
        ({"3.11": "/p"}, True, [Level.OK], [()]),
        ({"3.11": None}, True, [Level.NOTE], [()]),
        ({"3.11": None}, False, [Level.PROBLEM], [("venv",)]),
        ({"3.11": None, "3.12": "/p"}, False, [Level.PROBLEM, Level.OK], [(), ()]),
        ({}, False, [], []),
    ],
)
def test_interpreters(found, downloads, levels, stops):
    judged = list(judge_interpreters(InterpretersSeen(found=found, downloads=downloads)))
    assert [one.level for one in judged] == levels
    assert [one.stops for one in judged] == stops
    assert [one.id for one in judged] == [f"python.{python}" for python in found]


def test_interpreters_of_this_host(monkeypatch):
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    seen = world_interpreters.look_at_interpreters([HERE, "3.99"], Event())
    assert seen.found[HERE]
    assert (seen.found["3.99"], seen.downloads) == (None, False)
