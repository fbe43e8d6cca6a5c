"""`doctor` as users meet it, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bad_servers import answer, server, silent
from fake_engine import HANG, dead_socket, empty, fake_engine, info, silent_socket, version

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGE = answer(b'<a href="tinylib-1.0-py3-none-any.whl">tinylib-1.0-py3-none-any.whl</a>')
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")

MATRIX = """\
version: 1
probes: probes
indexes: {{house: "{index}"}}
bases: {{"3.11": {{image: "python:3.11-slim"}}}}
packages: {{tinylib: {{indexes: {{cpu: [house], xpu: [house]}}}}}}
stacks:
  tiny: {{device: cpu, axes: {{tinylib: ["1.0"]}}}}
  huge: {{device: xpu, axes: {{tinylib: ["1.0"]}}}}
issues: {{it: {{title: it, probes: ["test_it.py::test_it"], subject: {{tiny: tinylib}}}}}}
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes" / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    with server(PAGE) as port:
        (tmp_path / "matrix.yaml").write_text(MATRIX.format(index=f"http://127.0.0.1:{port}"), encoding="utf-8")
        yield tmp_path


def doctor(project, *arguments, **environment):
    """Run it where nothing of this host's network is named; the default index is one that nobody has."""
    kept = {name: value for name, value in os.environ.items() if name.lower() not in _PROXIES}
    given = {
        "PYTHONPATH": str(ROOT),
        "HOME": str(project),
        "XDG_RUNTIME_DIR": str(project / "run"),
        "UV_DEFAULT_INDEX": "http://127.0.0.1:1/simple",
        "DOCKER_HOST": "unix:///nonexistent.sock",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-m", "orchestrator", "doctor", *arguments],
        cwd=project,
        env=kept | given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def checks(done):
    document = json.loads(done.stdout)
    schema = json.loads((REFERENCE / "doctor.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)
    found = {one["id"]: one for one in document["checks"]}
    assert len(found) == len(document["checks"])
    assert document["usable"] is (done.returncode == 0)
    assert documented(found) == set()
    return document, found


def documented(ids):
    """Return the ids that the reference does not have: `base.PYTHON` there stands for base.3.11."""
    text = (REFERENCE / "doctor.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    fixed = {row for row in rows if row == row.lower()}
    families = {row.rpartition(".")[0] + "." for row in rows if row != row.lower()}
    return {one for one in ids if one not in fixed and not any(one.startswith(family) for family in families)}


def test_a_host_without_engine(project):
    done = doctor(project, "--format", "json")
    document, found = checks(done)
    assert done.returncode == 0, done.stderr
    assert document["runtimes"] == {"docker": False, "venv": True}
    assert (found["engine"]["level"], found["engine"]["stops"]) == ("problem", ["docker"])
    assert found["index.house"]["level"] == "ok"
    assert found["index.default"]["level"] == "problem"
    assert "stack huge" in found["device.xpu"]["summary"]
    assert not (project / ".orchestrator").exists()


def test_a_host_without_engine_that_needs_one(project):
    done = doctor(project, "--format", "json", "--runtime", "docker")
    document, found = checks(done)
    assert (done.returncode, document["runtimes"]) == (5, {"docker": False})
    assert found["engine"]["level"] == "blocker"


def test_a_host_that_needs_no_engine(project):
    document, found = checks(doctor(project, "--format", "json", "--runtime", "venv"))
    assert document["runtimes"] == {"venv": True}
    assert not any(one.startswith(("engine", "builder", "base")) for one in found)


def test_neither_runtime(project):
    (project / "file").touch()
    done = doctor(project, "--format", "json", "--store", "file/store")
    document, found = checks(done) if done.returncode == 5 else pytest.fail(done.stderr)
    assert document["runtimes"] == {"docker": False, "venv": False}
    assert found["engine"]["level"] == found["disk.store"]["level"] == "blocker"


def test_text_for_people(project):
    done = doctor(project, "--runtime", "docker", NO_COLOR="1")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("✗ blocker  engine ")
    assert lines[2].lstrip().startswith("hint: ")
    assert lines[-1].startswith("1 blocker, ")
    assert lines[-1].endswith("; a run cannot work in containers")
    assert "\x1b" not in done.stdout
    assert "\x1b[" in doctor(project, "--runtime", "docker", "--color", "always").stdout


def test_a_dead_daemon(project):
    _, found = checks(doctor(project, "--format", "json", DOCKER_HOST=dead_socket(project / "s")))
    assert "nobody listens there" in found["engine"]["summary"]


def test_an_old_engine(project):
    answers = empty() | {"/version": version("1.40")}
    with fake_engine(project / "s", answers) as endpoint:
        done = doctor(project, "--format", "json", "--runtime", "docker", DOCKER_HOST=endpoint)
    _, found = checks(done)
    assert done.returncode == 5
    assert found["engine"]["level"] == "ok"
    assert found["engine.api"]["level"] == "blocker"
    assert found["builder.classic"]["level"] == "blocker"
    assert found["disk.engine"]["level"] == "note"


def test_everything_hangs(project, tmp_path_factory):
    """An engine that gives its name and no more, indexes that take a question and say nothing, tools that stay."""
    tools = tmp_path_factory.mktemp("tools")
    for name in ("docker", "xpu-smi"):
        (tools / name).write_text(f"#!/bin/sh\necho $$ >> {tools}/started\nexec sleep 300\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    with ExitStack() as stack:
        answers = dict.fromkeys(
            ("/images/json", "/containers/json", "/build", "/images/python:3.11-slim/json"), HANG
        )
        endpoint = stack.enter_context(
            fake_engine(project / "s", {"/version": version(), "/info": info(), **answers})
        )
        ports = [stack.enter_context(server(silent)) for _ in range(2)]
        (project / "matrix.yaml").write_text(MATRIX.format(index=f"http://127.0.0.1:{ports[0]}"), encoding="utf-8")
        begun = time.monotonic()
        done = doctor(
            project,
            "--format",
            "json",
            "--runtime",
            "docker",
            DOCKER_HOST=endpoint,
            UV_DEFAULT_INDEX=f"http://127.0.0.1:{ports[1]}/simple",
            PATH=f"{tools}:{os.environ['PATH']}",
        )
        took = time.monotonic() - begun
    _, found = checks(done)
    assert took < 20  # what the command promises
    assert done.returncode == 5
    assert "in time" in found["builder.buildkit"]["summary"]
    assert found["builder.classic"]["level"] == "blocker"
    assert "could not be looked at" in found["base"]["summary"]
    for index in ("index.house", "index.default"):
        assert "in time" in found[index]["summary"]
    started = (tools / "started").read_text(encoding="utf-8").split()
    assert started
    assert not any(Path("/proc", pid).exists() for pid in started)


def test_a_daemon_that_never_answers(project):
    with silent_socket(project / "s") as endpoint:
        _, found = checks(doctor(project, "--format", "json", DOCKER_HOST=endpoint))
    assert "never answers" in found["engine"]["summary"]


def test_passwords_are_never_told(project):
    refusal = answer(b"<p>geheim</p>", status="407 Proxy Authentication Required")
    with (
        server(refusal) as port,
        fake_engine(project / "s", empty() | {"/info": info(HttpsProxy="http://me:s3kret@proxy:1")}) as endpoint,
    ):
        for more in ([], ["--format", "json"]):
            done = doctor(
                project,
                *more,
                DOCKER_HOST=endpoint,
                https_proxy=f"http://me:gehe%69m@127.0.0.1:{port}",
                UV_DEFAULT_INDEX="https://someone:passwort@index.invalid/simple",
            )
            said = done.stdout + done.stderr
            assert "407" in said
            assert "***@127.0.0.1" in said
            for word in ("geheim", "gehe%69m", "s3kret", "passwort"):
                assert word not in said


def test_an_index_that_says_evil_things_does_not_reach_the_terminal(project):
    evil = answer(b"", status="503 \x1b[2J\x9b31mowned", more="X: \x1b]0;owned\x07\r\n")
    moved = answer(b"", status="302 Found", more="Location: http://127.0.0.1:1/\x1b[2J\x07owned%0a\r\n")
    for script in (evil, moved, b"HTTP/1.1 \x1b[2J owned\r\n\r\n", b"\x1b[2J\x00\xff\r\n\r\n"):
        with server(script) as port:
            (project / "matrix.yaml").write_text(MATRIX.format(index=f"http://127.0.0.1:{port}"), encoding="utf-8")
            done = doctor(project)
        assert done.returncode == 0, done.stderr
        assert not any(character in done.stdout + done.stderr for character in "\x1b\x07\x9b\x00")


def test_without_a_matrix(tmp_path):
    done = doctor(tmp_path, "--format", "json")
    assert "no matrix.yaml here" in done.stderr
    _, found = checks(done)
    assert [one for one in found if one.startswith("index")] == ["index.default"]


def test_a_matrix_that_is_not_there_or_wrong(tmp_path):
    done = doctor(tmp_path, "other.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    (tmp_path / "matrix.yaml").write_text("version: 2\n", encoding="utf-8")
    assert doctor(tmp_path).returncode == 2


@pytest.mark.engine
def test_this_host(tmp_path):
    """The real engine: it can be run on, and nothing of ours stays in it."""
    environment = {name: os.environ[name] for name in ("DOCKER_HOST", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "doctor", str(ROOT / "matrix.yaml"), "--format", "json",
         "--runtime", "docker", "--store", str(tmp_path / "store")],
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    _, found = checks(done)
    assert not [one for one in found.values() if one["level"] == "blocker"]
    assert found["engine"]["level"] == found["builder.classic"]["level"] == "ok"
    assert found["engine.clock"]["level"] == "ok"
    assert not (tmp_path / "store").exists()
    left = subprocess.run(
        ["docker", "images", "--quiet", "orchestrator/trial"], capture_output=True, text=True, check=False
    )
    assert left.stdout == ""
