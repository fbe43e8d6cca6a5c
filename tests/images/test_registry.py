"""Images through a real registry, and what becomes of a run when the registry is not what it should be."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import threading
import time
from contextlib import suppress

import pytest
from docker.errors import ImageNotFound
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.images import Engine
from orchestrator.images.labels import STEP_LABEL, TOOL, TOOL_LABEL
from orchestrator.images.registry import Patience, Registry
from orchestrator.registries import split
from registry_server import Line, Refusing, RegistryServer, Silent, need_registry

SHORT = Patience(tries=3, pause=0.1, failures=9, answer=2.0, stall=3.0, timeout=120.0)
BIG = 20_000_000


@pytest.fixture(scope="module")
def engine_():
    opened = Engine()
    yield opened
    opened.close()


@pytest.fixture
def server(tmp_path):
    need_registry()
    running = RegistryServer(tmp_path).start()
    yield running
    running.kill()


@pytest.fixture
def line(server):
    opened = Line(server.port)
    yield opened
    opened.close()


class Image:
    """An image of ours with content of its own."""

    def __init__(self, api, *, size=100, key=None, labels=None):
        self.api = api
        self.key = key or hashlib.sha256(os.urandom(16)).hexdigest()
        self.local = f"orchestrator/layer:{self.key[:24]}"
        labels = {STEP_LABEL: self.key, TOOL_LABEL: TOOL} if labels is None else labels
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as tar:
            info = tarfile.TarInfo("data")
            info.size = size
            tar.addfile(info, io.BytesIO(os.urandom(size)))
        changes = [f"LABEL {name}={value}" for name, value in labels.items()]
        repository, _, tag = self.local.partition(":")
        api.import_image_from_data(content.getvalue(), repository=repository, tag=tag, changes=changes)
        self.id = api.inspect_image(self.local)["Id"]

    @property
    def names(self):
        """Every name that the engine has for it, of tags and of digests; None where it has no such image."""
        try:
            found = self.api.inspect_image(self.id)
        except ImageNotFound:
            return None
        return found["RepoTags"] + found["RepoDigests"]

    def remove(self):
        for name in self.names or ():
            with suppress(ImageNotFound):  # the names of digests go with the tags
                self.api.remove_image(name)


@pytest.fixture
def image(engine_):
    made = []

    def make(**how):
        made.append(Image(engine_.api, **how))
        return made[-1]

    yield make
    for one in made:
        one.remove()
        assert one.names is None


@pytest.fixture
def said():
    return []


@pytest.fixture
def go():
    """Nobody cancels."""
    return threading.Event()


@pytest.fixture
def registry(engine_):
    opened = []

    def at(address, patience=SHORT):
        opened.append(Registry(engine_, f"{address}/team/images", patience=patience))
        return opened[-1]

    yield at
    for one in opened:
        one.close()


@pytest.mark.engine
def test_round_trip(registry, server, image, said, go):
    shared, one = registry(server.address), image()
    assert shared.push(one.local, one.key, said.append, cancel=go)
    assert one.names == [one.local]
    one.remove()
    assert one.names is None
    assert shared.pull(one.local, one.key, said.append, cancel=go)
    assert one.names == [one.local]
    assert len(said) == 2


@pytest.mark.engine
def test_unknown_image_is_no_news(registry, server, image, said, go):
    shared, one = registry(server.address), image()
    other = hashlib.sha256(b"other").hexdigest()
    assert not shared.pull(f"orchestrator/layer:{other[:24]}", other, said.append, cancel=go)
    assert shared.push(one.local, one.key, said.append, cancel=go)
    assert not shared.pull(f"orchestrator/layer:{other[:24]}", other, said.append, cancel=go)
    assert said == [f"pushed {shared.remote(one.local)}"]


@pytest.mark.engine
@pytest.mark.parametrize("wrong", ["key", "tool", "none"])
def test_image_under_a_wrong_name(registry, server, image, engine_, said, go, wrong):
    right = image()
    labels = {"key": {STEP_LABEL: "0" * 64, TOOL_LABEL: TOOL}, "tool": {STEP_LABEL: right.key}, "none": {}}[wrong]
    shared, api = registry(server.address), engine_.api
    repository, _, tag = shared.remote(right.local).rpartition(":")
    impostor = image(labels=labels)
    api.tag(impostor.id, repository, tag)
    list(api.push(repository, tag=tag, stream=True, decode=True))
    impostor.remove()
    right_id = right.id
    api.tag(right.local, "orchestrator-test/kept", tag)
    api.remove_image(right.local)
    try:
        assert not shared.pull(right.local, right.key, said.append, cancel=go)
        assert said[-1].endswith("is another image than its name says: not used")
        assert impostor.names is None
        # Built after that, it takes the place of the wrong one.
        api.tag("orchestrator-test/kept:" + tag, *right.local.split(":"))
    finally:
        api.remove_image("orchestrator-test/kept:" + tag)
    assert shared.push(right.local, right.key, said.append, cancel=go)
    right.remove()
    assert shared.pull(right.local, right.key, said.append, cancel=go)
    assert api.inspect_image(right.local)["Id"] == right_id


@pytest.mark.engine
def test_image_for_another_platform(registry, server, image, said, go):
    class Elsewhere(Registry):
        def _platform(self):
            return "linux/s390x"

    shared, one = registry(server.address), image()
    assert shared.push(one.local, one.key, said.append, cancel=go)
    one.remove()
    elsewhere = Elsewhere(shared._engine, f"{server.address}/team/images", patience=SHORT)
    assert not elsewhere.pull(one.local, one.key, said.append, cancel=go)
    assert said[1].startswith(f"{shared.remote(one.local)} is for linux/")
    assert said[1].endswith(", not for linux/s390x: not used")
    assert one.names is None


@pytest.mark.engine
def test_second_push_transfers_nothing(registry, line, image, said, go):
    one = image(size=2_000_000)
    assert registry(line.address).push(one.local, one.key, said.append, cancel=go)
    assert line.bytes > 2_000_000
    before = line.bytes
    assert registry(line.address).push(one.local, one.key, said.append, cancel=go)
    assert line.bytes - before < 20_000
    assert len(said) == 1


@pytest.mark.engine
def test_line_that_breaks(registry, line, image, said, go):
    shared, one = registry(line.address), image(size=BIG)
    line.cuts, line.after = 2, 5_000_000
    assert shared.push(one.local, one.key, said.append, cancel=go)
    assert line.broken == 2
    one.remove()
    line.cuts, line.after = 2, 5_000_000
    assert shared.pull(one.local, one.key, said.append, cancel=go)
    assert line.broken == 4
    assert one.names == [one.local]
    assert [text.partition(" ")[0] for text in said[:2]] == ["pushed", "pulling"]


@pytest.mark.engine
@pytest.mark.parametrize("way", ["push", "pull"])
def test_killed_in_the_middle(registry, server, line, image, said, go, way):
    shared, one = registry(line.address), image(size=BIG)
    if way == "pull":
        assert shared.push(one.local, one.key, said.append, cancel=go)
        one.remove()
        said.clear()
    line.moving.clear()
    line.cuts, line.after = 1000, 3_000_000

    def kill():
        line.moving.wait(60)
        server.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    assert not getattr(shared, way)(one.local, one.key, said.append, cancel=go)
    killer.join()
    lines = [text for text in said if not text.startswith("pulling ")]
    assert len(lines) == 1
    assert lines[0].startswith(f"cannot {way} {shared.remote(one.local)}: ")
    assert one.names == ([one.local] if way == "push" else None)
    line.cuts = 0
    server.start()
    assert getattr(shared, way)(one.local, one.key, said.append, cancel=go)
    assert one.names == [one.local]


@pytest.mark.engine
def test_registry_that_is_down_is_left_alone(registry, server, image, said, go):
    server.kill()
    shared = registry(server.address, Patience(tries=2, pause=0.01, failures=4))
    images = [image() for _ in range(4)]
    for one in images:
        assert not shared.pull(one.local, one.key, said.append, cancel=go)
        assert not shared.push(one.local, one.key, said.append, cancel=go)
    assert len(said) == 2
    assert "connection refused" in said[0]
    assert said[1].startswith(f"the registry {server.address} does not work (")
    server.start()
    assert not shared.push(images[0].local, images[0].key, said.append, cancel=go)
    assert len(said) == 2


@pytest.mark.engine
def test_failures_of_long_ago_do_not_count(registry, server, image, said, go):
    shared, one = registry(server.address, Patience(tries=2, pause=0.01, failures=3)), image()
    for _ in range(3):
        server.kill()
        assert not shared.push(one.local, one.key, said.append, cancel=go)
        server.start()
        assert shared.push(one.local, one.key, said.append, cancel=go)
    assert not any("without it" in text for text in said)


@pytest.mark.engine
@pytest.mark.parametrize("status", [401, 403, 405])
def test_registry_that_refuses(registry, image, said, go, status):
    refusing = Refusing(status)
    try:
        shared, one = registry(refusing.address), image()
        assert not shared.pull(one.local, one.key, said.append, cancel=go)
        assert not shared.push(one.local, one.key, said.append, cancel=go)
        asked = len(refusing.requests)
        assert asked
        assert not shared.pull(one.local, one.key, said.append, cancel=go)
        assert not shared.push(one.local, one.key, said.append, cancel=go)
        assert len(refusing.requests) == asked
    finally:
        refusing.close()
    assert [text.partition(" (")[0] for text in said] == [
        f"the registry {refusing.address} does not give images",
        f"the registry {refusing.address} does not take images",
    ]
    assert one.names == [one.local]


@pytest.mark.engine
def test_what_a_registry_says_is_told_without_secrets(registry, image, said, go):
    message = "see https://user:hush@store.example/blob?signature=hush now"
    refusing = Refusing(403, body=json.dumps({"errors": [{"code": "DENIED", "message": message}]}))
    try:
        one = image()
        assert not registry(refusing.address).push(one.local, one.key, said.append, cancel=go)
    finally:
        refusing.close()
    assert len(said) == 1
    assert "see https://store.example/blob now" in said[0]


@pytest.mark.engine
def test_registry_that_fails(registry, image, said, go):
    failing = Refusing(500, body="<html>\n\n</html>")
    try:
        shared, one = registry(failing.address, SHORT), image()
        assert not shared.pull(one.local, one.key, said.append, cancel=go)
        assert not shared.push(one.local, one.key, said.append, cancel=go)
    finally:
        failing.close()
    assert [text.partition(" ")[0] for text in said] == ["cannot", "cannot"]
    assert "500" in said[0]
    assert "\n" not in "".join(said)


@pytest.mark.engine
def test_push_that_gets_nowhere(registry, image, said, go):
    failing = Refusing(500, manifests=404)
    try:
        shared, one = registry(failing.address, Patience(tries=1, stall=2.0)), image()
        assert not shared.push(one.local, one.key, said.append, cancel=go)
    finally:
        failing.close()
    # The engine itself would try again for most of a minute.
    assert said == [f"cannot push {shared.remote(one.local)}: nothing moved for 2 s"]
    assert one.names == [one.local]


@pytest.mark.engine
def test_registry_that_only_reads(registry, server, image, said, go):
    there, new = image(), image()
    assert registry(server.address).push(there.local, there.key, said.append, cancel=go)
    said.clear()
    there.remove()
    server.kill()
    server.start(readonly=True)
    shared = registry(server.address)
    assert not shared.push(new.local, new.key, said.append, cancel=go)
    assert not shared.push(new.local, new.key, said.append, cancel=go)
    assert shared.pull(there.local, there.key, said.append, cancel=go)
    assert said[0].startswith(f"the registry {server.address} does not take images (")
    assert said[1:] == [f"pulling {shared.remote(there.local)}"]


@pytest.fixture(params=[True, False], ids=["greets", "silent"])
def silent(request):
    opened = Silent(greets=request.param)
    yield opened
    opened.close()


@pytest.mark.engine
def test_registry_that_never_answers(registry, silent, image, said, go):
    shared, one = (
        registry(silent.address, Patience(tries=2, pause=0.1, failures=4, answer=1.0, stall=1.0)),
        image(),
    )
    start = time.monotonic()
    assert not shared.pull(one.local, one.key, said.append, cancel=go)
    assert not shared.push(one.local, one.key, said.append, cancel=go)
    # A bound, no measurement: the engine alone would wait for most of a minute, or for ever.
    assert time.monotonic() - start < 20
    assert len(said) == 2
    assert said[1].startswith(f"the registry {silent.address} does not work (")
    assert one.names == [one.local]


@pytest.mark.engine
@pytest.mark.parametrize("way", ["pull", "push"])
def test_cancel(registry, silent, image, said, way):
    shared, one, cancel = registry(silent.address, Patience(answer=500.0, stall=500.0)), image(), threading.Event()

    def stop():
        silent.asked.wait(60)
        cancel.set()

    stopper = threading.Thread(target=stop)
    stopper.start()
    start = time.monotonic()
    assert not getattr(shared, way)(one.local, one.key, said.append, cancel=cancel)
    assert time.monotonic() - start < 60
    stopper.join()
    assert said == []
    assert one.names == [one.local]


@pytest.mark.engine
def test_cancel_in_the_middle(registry, line, image, said, go):
    shared, one, cancel = registry(line.address), image(size=BIG), threading.Event()
    assert shared.push(one.local, one.key, said.append, cancel=go)
    one.remove()
    said.clear()

    def announced(text):
        said.append(text)
        cancel.set()

    assert not shared.pull(one.local, one.key, announced, cancel=cancel)
    assert said == [f"pulling {shared.remote(one.local)}"]
    assert one.names is None


@pytest.mark.engine
def test_push_later(registry, server, image, said, go):
    shared, images = registry(server.address), [image() for _ in range(3)]
    for one in images:
        shared.push_later(one.local, one.key, said.append)
    assert shared.drain(cancel=go) == 0
    assert said == [f"pushed {shared.remote(one.local)}" for one in images]
    shared.close()
    shared.push_later(images[0].local, images[0].key, said.append)
    assert shared.drain(cancel=go) == 0
    assert len(said) == 3
    for one in images:
        one.remove()
        assert shared.pull(one.local, one.key, said.append, cancel=go)


@pytest.mark.engine
def test_push_later_goes_on_after_trouble(registry, server, image, said, go):
    shared, gone, one = registry(server.address), image(), image()
    gone.remove()
    shared.push_later(gone.local, gone.key, said.append)
    shared.push_later(one.local, one.key, said.append)
    assert shared.drain(cancel=go) == 0
    assert said == [
        f"{gone.local} is not there any more, and is not pushed",
        f"pushed {shared.remote(one.local)}",
    ]


@pytest.mark.engine
def test_close_does_not_wait_for_a_registry(registry, silent, image, said, go):
    shared, images = registry(silent.address, Patience(answer=500.0, stall=500.0)), [image(), image()]
    for one in images:
        shared.push_later(one.local, one.key, said.append)
    assert silent.asked.wait(60)
    assert shared.drain(cancel=go, timeout=0.1) == 2
    cancelled = threading.Event()
    cancelled.set()
    assert shared.drain(cancel=cancelled) == 2
    start = time.monotonic()
    shared.close()
    assert time.monotonic() - start < 60
    assert said == []
    assert [one.names for one in images] == [[one.local] for one in images]


@pytest.mark.engine
def test_side_by_side(registry, server, image, said, go):
    shared, images = registry(server.address), [image() for _ in range(6)]
    for one in images:
        assert shared.push(one.local, one.key, said.append, cancel=go)
        one.remove()
    done = []

    def pull(one):
        done.append(shared.pull(one.local, one.key, said.append, cancel=go))

    threads = [threading.Thread(target=pull, args=(one,)) for one in images]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 6
    assert [one.names for one in images] == [[one.local] for one in images]


@pytest.mark.parametrize(
    ("name", "host", "path"),
    [
        ("localhost/a", "localhost", "a"),
        ("localhost:5000/a/b", "localhost:5000", "a/b"),
        ("127.0.0.1:5000/team", "127.0.0.1:5000", "team"),
        ("registry.example/a__b/c.d--e", "registry.example", "a__b/c.d--e"),
        ("build-host:5000/x", "build-host:5000", "x"),
    ],
)
def test_places(name, host, path):
    assert split(name) == (host, path)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "registry.example",
        "registry.example/",
        "team/images",
        "https://registry.example/a",
        "registry.example/A",
        "registry.example/a:tag",
        "registry.example/a@sha256:" + "0" * 64,
        "registry.example/a//b",
        "registry.example/a___b",
        "registry.example/.a",
        "registry.example:/a",
        "-registry.example/a",
        "user:secret@registry.example/a",
        "registry.example/a\n",
        "registry.example/" + "a" * 250,
    ],
)
def test_no_places(name):
    with pytest.raises(ValueError, match="is not a place in a registry: host:port/name"):
        split(name)


@given(st.text(alphabet="aA0.:/_-@\n", max_size=30))
def test_places_are_put_together_again(text):
    try:
        host, path = split(text)
    except ValueError:
        return
    assert f"{host}/{path}" == text
    assert "/" not in host
    assert path == path.lower()
