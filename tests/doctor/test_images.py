"""Builders, bases, the registry, and what is left of earlier runs: what is made of what was seen."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from threading import Event

import pytest

from fake_engine import empty, fake_engine
from orchestrator.doctor.base import BaseSeen, RegistrySeen, judge_bases, judge_registry
from orchestrator.doctor.builder import BuilderSeen, judge_builders
from orchestrator.doctor.finding import Level
from orchestrator.doctor.leftovers import AttemptsSeen, ContainerSeen, Owner, judge_attempts, judge_containers
from orchestrator.doctor.world import leftovers as world_leftovers
from orchestrator.execute.owner import owner


def builders(asked, **works):
    seen = tuple(BuilderSeen(name=name, works=able) for name, able in works.items())
    return {one.id: one for one in judge_builders(asked, seen)}


@pytest.mark.parametrize("asked", ["auto", "classic", "buildkit"])
def test_both_builders_work(asked):
    assert {one.level for one in builders(asked, buildkit=True, classic=True).values()} == {Level.OK}


def test_one_builder_is_enough():
    found = builders("auto", buildkit=False, classic=True)
    assert (found["builder.buildkit"].level, found["builder.classic"].level) == (Level.NOTE, Level.OK)
    found = builders("auto", buildkit=True, classic=False)
    assert (found["builder.buildkit"].level, found["builder.classic"].level) == (Level.OK, Level.NOTE)


def test_the_builder_that_was_asked_for_has_to_work():
    found = builders("buildkit", buildkit=False, classic=True)
    assert list(found) == ["builder.buildkit"]
    assert found["builder.buildkit"].stops == ("docker",)
    assert "--builder" in found["builder.buildkit"].hint


def test_no_builder():
    for one in builders("auto", buildkit=False, classic=False).values():
        assert (one.level, one.stops) == (Level.PROBLEM, ("docker",))
        assert one.hint


def test_why_buildkit_does_not_work():
    late = BuilderSeen(name="buildkit", works=False, late=True)
    absent = BuilderSeen(name="buildkit", works=False, commands=0)
    broken = BuilderSeen(name="buildkit", works=False)
    said = [next(iter(judge_builders("auto", (one,)))).summary for one in (late, absent, broken)]
    assert "in time" in said[0]
    assert "no docker command" in said[1]
    assert len(set(said)) == 3


def base(**changes):
    return BaseSeen(**{"name": "3.11", "image": "python:3.11-slim", "registry": "no answer", **changes})


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({"there": "the engine has it"}, Level.OK),
        ({"registry": None}, Level.OK),
        ({"debian": "bookworm"}, Level.NOTE),
        ({"debian": "bookworm", "obstacle": "needs root"}, Level.PROBLEM),
        ({}, Level.PROBLEM),
    ],
)
def test_how_a_base_is_had(changes, level):
    (found,) = judge_bases([base(**changes)])
    assert (found.id, found.level) == ("base.3.11", level)
    assert found.stops == (("docker",) if level is Level.PROBLEM else ())
    assert (found.hint is None) is (level is Level.OK)


def test_one_base_of_two_is_enough_to_run():
    other = base(name="3.12", image="python:3.12-slim", there="here")
    assert [one.stops for one in judge_bases([base(), other])] == [(), ()]
    assert list(judge_bases([])) == []


def test_the_registry():
    assert judge_registry(RegistrySeen(name="r.example/x")).level is Level.OK
    refused = judge_registry(RegistrySeen(name="r.example/x", trouble="denied", refused=True))
    assert "docker login r.example" in refused.hint
    silent = judge_registry(RegistrySeen(name="r.example/x", trouble="timeout"))
    assert (silent.level, silent.stops) == (Level.PROBLEM, ())
    assert silent.hint != refused.hint


def container(name, owner_, state="exited"):
    return ContainerSeen(name=name, state=state, owner=owner_)


def test_containers_that_are_left():
    seen = [container("a", Owner.DEAD), container("b; rm", Owner.DEAD), container("c", Owner.ELSEWHERE)]
    dead, elsewhere, trials = judge_containers(seen, ["orchestrator/trial:1"])
    assert dead.hint == "`docker rm --force --volumes a 'b; rm'`"
    assert dead.summary.startswith("2 containers ")
    assert "docker rm --force --volumes c" in elsewhere.hint
    assert trials.hint == "`docker rmi orchestrator/trial:1`"
    assert len({dead.id, elsewhere.id, trials.id}) == 3


def test_no_container_is_left():
    (found,) = judge_containers([container("a", Owner.ALIVE, "running")], [])
    assert (found.level, "1 container " in found.summary) == (Level.OK, True)


def test_whose_containers_they_are(tmp_path, monkeypatch):
    mine = owner()
    theirs = mine | {"io.orchestrator.host": "another boot"}
    dead = mine | {"io.orchestrator.started": "1"}
    listed = [
        {"Id": "0" * 64, "Names": [f"/{name}"], "State": "exited", "Labels": labels}
        for name, labels in (("mine", mine), ("theirs", theirs), ("dead", dead), ("bare", None))
    ]
    images = [
        {"Created": moment, "RepoTags": [f"orchestrator/trial:{name}"]}
        for name, moment in (
            ("999999999-1", time.time() - 7200),
            ("999999999-2", time.time()),
            (f"{os.getpid()}-1", -62135596800),
        )
    ]
    answers = empty() | {"/containers/json": listed, "/images/json": images}
    with fake_engine(tmp_path / "s", answers) as endpoint:
        monkeypatch.setenv("DOCKER_HOST", endpoint)
        seen, trials = world_leftovers.left_in_engine(Event())
    assert {one.name: one.owner for one in seen} == {
        "mine": Owner.ALIVE,
        "theirs": Owner.ELSEWHERE,
        "dead": Owner.DEAD,
        "bare": Owner.ELSEWHERE,
    }
    assert trials == ("orchestrator/trial:999999999-1",)


def test_the_command_for_stopped_attempts_removes_these_and_nothing_else(tmp_path):
    attempts = tmp_path / "a store" / "attempts"
    for name, ended, age in (("done", True, 3), ("stopped", False, 3), ("running", False, 0)):
        (attempts / name / "out").mkdir(parents=True)
        if ended:
            (attempts / name / "attempt.json").touch()
        moment = time.time() - age * 24 * 3600
        os.utime(attempts / name, (moment, moment))
    seen = world_leftovers.left_in_store(tmp_path / "a store", Event())
    assert seen == AttemptsSeen(directory=str(attempts), count=1)
    (found,) = judge_attempts(seen)
    subprocess.run(shlex.split(found.hint.strip("`")), check=True)
    assert sorted(path.name for path in attempts.iterdir()) == ["done", "running"]


def test_a_store_without_attempts(tmp_path):
    assert list(judge_attempts(world_leftovers.left_in_store(tmp_path / "none", Event()))) == []
