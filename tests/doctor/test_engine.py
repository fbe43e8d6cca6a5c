from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from threading import Event

import pytest

from fake_engine import HANG, dead_socket, fake_engine, info, silent_socket, version
from orchestrator.doctor.engine import (
    EngineSeen,
    Silence,
    Unreachable,
    judge_engine,
    judge_memory,
    judge_silence,
)
from orchestrator.doctor.finding import Level
from orchestrator.doctor.rights import Rights, how_to_join
from orchestrator.doctor.world import engine as world_engine
from rights import opened

GOOD = EngineSeen(
    endpoint="unix:///var/run/docker.sock",
    product="Docker",
    version="28.3.0",
    api="1.51",
    system="linux/amd64",
    driver="overlay2",
    cgroup_version="2",
    cgroup_driver="systemd",
    rootless=False,
    limits_memory=True,
    limits_pids=True,
    memory=64 * 10**9,
    root="/var/lib/docker",
    local=True,
    ahead=0.1,
)
SOCKET = Rights(path="/s", mode=0o660, gid=998, group="docker", user="ada", allowed=False, listed=False)


def judged(**changes):
    return {one.id: one for one in judge_engine(replace(GOOD, **changes))}


def test_a_good_engine_has_no_problem():
    assert {one.level for one in judge_engine(GOOD)} == {Level.OK}
    assert list(judge_memory(GOOD, 8 * 10**9)) == []


@pytest.mark.parametrize("api", ["1.40", "1.9", "0.99", "", "2", "1.41\n", "1.41.1", "nan.5", "१.५०"])
def test_an_api_that_is_too_old_or_none(api):
    found = judged(api=api)["engine.api"]
    assert (found.level, found.stops) == (Level.PROBLEM, ("docker",))
    assert "1.41" in found.summary
    assert found.hint


@pytest.mark.parametrize("api", ["1.41", "1.100", "2.0"])
def test_an_api_that_will_do(api):
    assert judged(api=api)["engine.api"].level is Level.OK


@pytest.mark.parametrize(
    ("changes", "identity", "word", "stops"),
    [
        ({"driver": "vfs"}, "engine.storage", "vfs", ()),
        ({"limits_memory": False}, "engine.limits", "memory", ()),
        ({"limits_pids": False}, "engine.limits", "processes", ()),
        ({"system": "windows/amd64"}, "engine.system", "windows", ("docker",)),
        ({"local": False}, "engine.local", "another machine", ("docker",)),
        ({"ahead": 40.0}, "engine.clock", "40 s ahead of", ()),
        ({"ahead": -3600.0}, "engine.clock", "3600 s behind", ()),
    ],
)
def test_what_is_wrong_with_an_engine(changes, identity, word, stops):
    found = judged(**changes)[identity]
    assert (found.level, found.stops) == (Level.PROBLEM, stops)
    assert word in found.summary
    assert found.hint


def test_a_rootless_engine_is_a_note():
    assert judged(rootless=True)["engine.rootless"].level is Level.NOTE


def test_a_clock_that_is_not_told():
    assert "engine.clock" not in judged(ahead=None)


def test_less_memory_than_a_cell_may_use():
    (found,) = judge_memory(replace(GOOD, memory=4 * 10**9), 8 * 10**9)
    assert found.level is Level.PROBLEM
    assert list(judge_memory(replace(GOOD, memory=0), 8 * 10**9)) == []


def silence(what, **changes):
    values = {"endpoint": "unix:///s", "named": False, "silence": what, "reason": "because", **changes}
    (found,) = judge_silence(Unreachable(**values))
    assert (found.level, found.stops) == (Level.PROBLEM, ("docker",))
    return found


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("what", Silence)
def test_every_silence_says_what_to_do(what, named):
    found = silence(what, named=named)
    assert found.hint
    assert ("DOCKER_HOST" in found.summary) is named
    assert "because" in found.summary + found.detail


def test_an_engine_elsewhere_is_the_first_thing_to_try():
    found = silence(Silence.ABSENT, elsewhere=(("rootless Podman", "unix:///run/p.sock"),))
    assert found.hint.startswith("`export DOCKER_HOST=unix:///run/p.sock`")
    assert "rootless Podman" in found.detail


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "`sudo usermod -aG docker ada`"),
        ({"listed": True}, "newgrp docker"),
        ({"group": None, "gid": 4711}, "groupadd --gid 4711"),
        ({"mode": 0o600}, "mode 660"),
        ({"gid": 0, "group": "root"}, "a group of its own"),
    ],
)
def test_how_a_user_gets_the_right(changes, word):
    rights = replace(SOCKET, **changes)
    assert word in how_to_join(rights)
    assert word in silence(Silence.FORBIDDEN, socket=rights).hint


def test_a_socket_in_a_closed_directory():
    assert "namei -l /s" in silence(Silence.FORBIDDEN).hint


# What asks: real sockets.


@pytest.fixture
def asked(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(world_engine, "TIMEOUT", 0.3)
    for name in ("DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)

    def ask(endpoint):
        monkeypatch.setenv("DOCKER_HOST", endpoint)
        return world_engine.look_at_engine(Event())

    return ask


def test_no_socket(asked, tmp_path):
    assert asked(f"unix://{tmp_path}/none.sock").silence is Silence.ABSENT


def test_a_file_that_is_no_socket(asked, tmp_path):
    (tmp_path / "file").touch()
    assert asked(f"unix://{tmp_path}/file").silence is Silence.NO_SOCKET


def test_a_daemon_that_has_died(asked, tmp_path):
    assert asked(dead_socket(tmp_path / "s")).silence is Silence.REFUSED


def test_a_daemon_that_never_answers(asked, tmp_path):
    with silent_socket(tmp_path / "s") as endpoint:
        assert asked(endpoint).silence is Silence.HANGS


def test_a_daemon_that_hangs_after_its_first_answer(asked, tmp_path):
    with fake_engine(tmp_path / "s", {"/version": version(), "/info": HANG}) as endpoint:
        assert asked(endpoint).silence is Silence.HANGS


def test_a_socket_that_this_user_may_not_open(asked, tmp_path):
    directory = tmp_path / "closed"
    directory.mkdir()
    place = directory / "s"
    with silent_socket(place) as endpoint:
        place.chmod(0)
        root = os.geteuid() == 0
        if root:
            opened(directory)
            os.seteuid(65534)
        try:
            seen = asked(endpoint)
        finally:
            if root:
                os.seteuid(0)
    assert seen.silence is Silence.FORBIDDEN
    assert (seen.socket.allowed, seen.socket.mode) == (False, 0)
    (found,) = judge_silence(seen)
    assert "may not open it" in found.summary


def test_nobody_at_a_network_address(asked):
    assert asked("tcp://127.0.0.1:1").silence is Silence.REFUSED


@pytest.mark.parametrize("endpoint", ["nonsense://x", "tcp://", "unix://", "ssh://nobody@nowhere.invalid"])
def test_an_address_that_is_none(asked, endpoint):
    seen = asked(endpoint)
    assert isinstance(seen, Unreachable)
    assert seen.named


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{}", b"null", b"{", b'{"ApiVersion": 5}', b'{"ApiVersion": "x"}']
)
def test_something_that_is_no_engine(asked, tmp_path, answer):
    with fake_engine(tmp_path / "s", {"/version": answer, "/info": {}}) as endpoint:
        assert isinstance(asked(endpoint), Unreachable)


def test_an_old_engine(asked, tmp_path):
    with fake_engine(tmp_path / "s", {"/version": version("1.40"), "/info": info()}) as endpoint:
        seen = asked(endpoint)
    assert judged()["engine.api"].level is Level.OK
    found = {one.id: one for one in judge_engine(seen)}
    assert found["engine.api"].stops == ("docker",)
    assert "1.40" in found["engine.api"].summary


def test_an_engine_older_than_the_library_knows(asked, tmp_path):
    with fake_engine(tmp_path / "s", {"/version": version("1.18"), "/info": info()}) as endpoint:
        assert asked(endpoint).silence is Silence.ANCIENT


def test_an_engine_describes_itself(asked, tmp_path):
    said = info(ahead=100, SecurityOptions=["name=rootless"], PidsLimit=False, HttpsProxy="http://a:b@c:1")
    answers = {"/version": version("1.45", Components=[{"Name": "Podman Engine"}]), "/info": said}
    with fake_engine(tmp_path / "s", answers) as endpoint:
        seen = asked(endpoint)
    assert (seen.product, seen.api, seen.system) == ("Podman", "1.45", "linux/amd64")
    assert (seen.rootless, seen.limits_memory, seen.limits_pids, seen.local) == (True, True, False, True)
    assert 98 < seen.ahead < 101
    assert seen.proxies == {"HttpsProxy": "http://a:b@c:1"}


def test_the_context_of_the_docker_command_and_other_sockets(asked, tmp_path):
    (tmp_path / "run").mkdir()
    name = hashlib.sha256(b"desktop").hexdigest()
    meta = tmp_path / ".docker/contexts/meta" / name
    meta.mkdir(parents=True)
    with (
        silent_socket(tmp_path / "desktop.sock") as there,
        silent_socket(tmp_path / "run/docker.sock") as rootless,
    ):
        (tmp_path / ".docker/config.json").write_text('{"currentContext": "desktop"}')
        (meta / "meta.json").write_text(json.dumps({"Endpoints": {"docker": {"Host": there}}}))
        seen = asked(f"unix://{tmp_path}/none.sock")
    found = {where: what for what, where in seen.elsewhere}
    assert found[there] == "the context 'desktop' of the docker command"
    assert found[rootless] == "rootless Docker"


@pytest.mark.parametrize("text", ["", "[]", '{"currentContext": 5}', '{"currentContext": "gone"}'])
def test_a_docker_configuration_that_leads_nowhere(asked, tmp_path, text):
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text(text)
    assert asked(f"unix://{tmp_path}/none.sock").silence is Silence.ABSENT
