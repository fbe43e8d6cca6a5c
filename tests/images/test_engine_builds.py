"""Bases and layers on a real engine, with both builders."""

from __future__ import annotations

import io
import json
import tarfile
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import replace

import pytest

from containers import BASE, IMAGES, Bench, distribution, lock, payload, prepared, quiet, settings, wheels
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.docker import DockerRuntime
from orchestrator.execute.port import StepFailedError
from orchestrator.images import Engine, connect, reference
from orchestrator.images.buildkit import find_buildkit
from orchestrator.model import BaseImage, Limits
from upstream import Upstream
from wheelhouse import Wheelhouse

pytestmark = pytest.mark.engine

SLOW_WITH_CLASSIC = pytest.mark.parametrize(
    "builder", [pytest.param("classic", marks=pytest.mark.long), "buildkit"], indirect=True
)

BIG = "x" * 40_000_000
TOKEN = f"test-{uuid.uuid4().hex}"
"""In every layer of these tests: other runs may be under way on the same engine."""


@pytest.fixture(scope="module")
def api():
    client = connect(30)
    yield client
    client.close()


@pytest.fixture(scope="module")
def has_buildkit(shared):
    engine = Engine()
    yield find_buildkit(engine, shared / "lock") is not None
    engine.close()


@pytest.fixture(params=["classic", "buildkit"])
def builder(request, has_buildkit):
    if request.param == "buildkit" and not has_buildkit:
        pytest.skip("no docker command here builds with BuildKit")
    return request.param


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One cache for all, so that the base is looked for once."""
    return tmp_path_factory.mktemp("builds")


def recipes(directory, run="RUN"):
    """Write the project's Dockerfiles with the token in every layer, and something to do first."""
    directory.mkdir()
    (directory / "base.Dockerfile").write_text((IMAGES / "base.Dockerfile").read_text())
    text = (IMAGES / "layer.Dockerfile").read_text()
    text = text.replace("LABEL ", f"LABEL {TOKEN}=yes ").replace("RUN mkdir", f"{run} : {TOKEN} && mkdir")
    (directory / "layer.Dockerfile").write_text(text)
    return directory


@pytest.fixture
def runtime(shared, builder, tmp_path):
    images = recipes(tmp_path / "images")
    opened = DockerRuntime(
        shared / "cache", settings(builder, images), wheels(shared), payload=payload(shared / "payload")
    )
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def nothing_stays(api):
    yield
    assert ours(api) == set()


def ours(api):
    """Every image without a name that a build of a layer has left."""
    return {image["Id"] for image in api.images(filters={"label": TOKEN, "dangling": True})}


def records(api):
    """What BuildKit itself holds of our layers."""
    return {r["ID"] for r in api.df().get("BuildCache") or () if TOKEN in r.get("Description", "")}


@SLOW_WITH_CLASSIC
def test_layers_are_shared_and_given_back(runtime, shared, builder, api):
    house = Wheelhouse(shared / f"house-{builder}")
    big = distribution(house.add("big", "1.0", {"big/__init__.py": "", "big/data": BIG}))
    one, two = (
        distribution(house.add("thing", v, {"thing.py": f"v = {v!r} + {builder!r}"})) for v in ("1.0", "2.0")
    )
    base = runtime.base(BASE, quiet)
    assert runtime.base(BASE, quiet) == base
    locks = [lock(big, one), lock(big, two)]
    plan = runtime.plan([(locked, base) for locked in locks])
    assert len(plan.steps) == 3
    parent = plan.chain(locks[0].digest)[0]
    try:
        for key in plan.steps:
            assert not runtime.ready(plan.steps[key])
            runtime.prepare(plan.steps[key], Limits(), quiet, threading.Event())
            assert runtime.ready(plan.steps[key])
        held = runtime.held()
        assert 40_000_000 < held[parent.key].size < 42_000_000
        assert held[parent.key].wheels == (big.wheel,)
        assert held[base.digest].size > 100_000_000
        for locked, version in zip(locks, ("1.0", "2.0"), strict=True):
            leaf = plan.chain(locked.digest)[-1]
            assert 0 < held[leaf.key].size < 1_000_000
            assert (held[leaf.key].parent, held[leaf.key].base) == (parent.key, base.digest)
            bench = Bench(runtime, leaf, locked, shared / f"run-{builder}-{version}")
            raw = bench.run(
                "import importlib.metadata as m, thing\n"
                "files = [f for d in m.distributions() for f in d.files]\n"
                "left = [p for p in ('/tmp/build', '/opt/venv/.cache') if os.path.exists(p)]\n"
                "print(json.dumps([sorted(d.name for d in m.distributions()), thing.v, left]))"
            )
            assert json.loads(raw.log) == [["big", "thing"], version + builder, []]
        assert records(api) == set()
        runtime.discard(parent.key)
        assert runtime.ready(parent), "others stand on it"
    finally:
        for key in reversed(plan.steps):
            runtime.discard(key)
    assert not set(plan.steps) & set(runtime.held())
    runtime.discard(parent.key)


@SLOW_WITH_CLASSIC
def test_side_by_side(runtime, shared, builder, api):
    house = Wheelhouse(shared / f"many-{builder}")
    locks = [lock(distribution(house.add(f"thing{i}", "1.0", {"x": builder}))) for i in range(4)]
    plan = runtime.plan([(locked, runtime.base(BASE, quiet)) for locked in locks])
    threads = [
        threading.Thread(target=runtime.prepare, args=(step, Limits(), quiet, threading.Event()))
        for step in plan.steps.values()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(plan.steps) <= set(runtime.held())
    for key in plan.steps:
        runtime.discard(key)
    assert records(api) == set()


@SLOW_WITH_CLASSIC
def test_nothing_to_install(runtime):
    empty = lock()
    step = prepared(runtime, runtime.base(BASE, quiet), empty)
    assert runtime.ready(step)
    runtime.discard(step.key)


def test_wrong_hash(runtime, shared, builder):
    wheel = Wheelhouse(shared / f"wrong-{builder}").add("thing", "1.0")
    locked = lock(distribution(wheel, sha256="0" * 64))
    with pytest.raises(StepFailedError) as caught:
        prepared(runtime, runtime.base(BASE, quiet), locked)
    assert "hash mismatch" in str(caught.value).lower()
    assert not caught.value.transient
    assert "Hash mismatch" in caught.value.log
    log = next((shared / "cache").rglob("logs/*.txt"))
    assert log.parent.as_posix() in caught.value.log


@SLOW_WITH_CLASSIC
def test_index_that_does_not_answer(runtime, shared, builder):
    wheel = Wheelhouse(shared / f"away-{builder}").add("thing", "1.0")
    locked = lock(distribution(wheel, url=f"http://127.0.0.1:9/{wheel.name}"))
    with pytest.raises(StepFailedError) as caught:
        prepared(runtime, runtime.base(BASE, quiet), locked)
    assert caught.value.transient


def test_credentials_never_reach_an_image(runtime, shared, builder, api):
    wheel = Wheelhouse(shared / f"secret-{builder}").add("thing", "1.0", {"thing.py": f"of = {builder!r}"})
    with Upstream() as upstream:
        url = upstream.put(f"/{wheel.name}", wheel.read_bytes()).replace("://", "://user:hush@")
        locked = lock(distribution(wheel, url=url))
        step = prepared(runtime, runtime.base(BASE, quiet), locked)
    assert any("Authorization" in asked.headers for asked in upstream.asked)
    told = json.dumps([api.history(reference(step.key)), api.inspect_image(reference(step.key))])
    assert step.key in told
    assert "hush" not in told
    assert "hush" not in "".join(path.read_text() for path in (shared / "cache").rglob("logs/*.txt"))
    runtime.discard(step.key)


@SLOW_WITH_CLASSIC
def test_a_build_that_cannot_reach_this_host_asks_the_indexes(runtime, shared, builder, monkeypatch):
    house = Wheelhouse(shared / f"direct-{builder}")
    given = distribution(house.add("thing", "1.0", {"thing.py": f"of = {builder!r}"}))
    notes = []
    runtime._layers._note = notes.append
    offer = runtime._server.offer

    @contextmanager
    def unreachable(distributions):
        with offer(distributions) as made:
            made.index_url = "http://127.0.0.1:9/simple/"
            yield made

    monkeypatch.setattr(runtime._server, "offer", unreachable)
    step = prepared(runtime, runtime.base(BASE, quiet), lock(given))
    assert runtime.ready(step)
    assert len(notes) == 1
    assert notes[0].startswith("builds do not reach this host's loopback interface")
    runtime.discard(step.key)
    secret = replace(given, url=f"https://user:hush@index.example/{house.url.rpartition('/')[2]}.whl")
    with pytest.raises(StepFailedError, match="carries credentials") as caught:
        prepared(runtime, runtime.base(BASE, quiet), lock(secret))
    assert "hush" not in str(caught.value)


@SLOW_WITH_CLASSIC
def test_what_is_installed_is_compared_with_the_lock(runtime, shared, builder, api):
    """A parent that brings something nobody locked."""
    house = Wheelhouse(shared / f"swap-{builder}")
    big = distribution(house.add("big", "1.0", {"big/__init__.py": "", "big/data": BIG}))
    things = [
        distribution(house.add("thing", v, {"thing.py": f"v = {v!r} + {builder!r}"})) for v in ("1.0", "2.0")
    ]
    base = runtime.base(BASE, quiet)
    locks = [lock(big, thing) for thing in things]
    plan = runtime.plan([(locked, base) for locked in locks])
    parent, leaf = plan.chain(locks[0].digest)
    try:
        runtime.prepare(parent, Limits(), quiet, threading.Event())
        foreign = plan.chain(locks[1].digest)[-1]
        runtime.prepare(foreign, Limits(), quiet, threading.Event())
        was = api.inspect_image(reference(parent.key))["Id"]
        repository, _, tag = reference(parent.key).partition(":")
        runtime._engine.api.tag(reference(foreign.key), repository, tag)  # as if somebody had moved the tag
        with pytest.raises(StepFailedError, match=r"what is installed is not what is locked: thing==2\.0"):
            runtime.prepare(leaf, Limits(), quiet, threading.Event())
    finally:
        for name in (reference(leaf.key), reference(parent.key), reference(foreign.key), was):
            runtime._inventory._remove(name)


@pytest.fixture
def slow(shared, builder, tmp_path):
    """A runtime whose layers take a minute."""
    images = recipes(tmp_path / "slow", run="RUN echo /opt/uv/uv && sleep 60 &&")
    opened = DockerRuntime(shared / "cache", settings(builder, images), wheels(shared))
    opened._builds.builder  # noqa: B018 - chosen before the clock starts
    yield opened
    opened.close()


def slow_step(slow, shared, builder):
    base = slow.base(BASE, quiet)
    slow._bases.ensure(base, quiet, timeout=300, cancel=threading.Event())
    wheel = Wheelhouse(shared / f"slow-{builder}").add("thing", "1.0")
    locked = lock(distribution(wheel))
    return slow.plan([(locked, base)]).chain(locked.digest)[-1]


def test_build_that_takes_too_long(slow, shared, builder, api):
    step = slow_step(slow, shared, builder)
    start = time.monotonic()
    with pytest.raises(StepFailedError, match="not done after 3 s") as caught:
        slow.prepare(step, Limits(build_timeout=3.0), quiet, threading.Event())
    assert time.monotonic() - start < 40
    assert not caught.value.transient
    assert sleeping(api) == []


def test_build_that_is_cancelled(slow, shared, builder, api):
    step = slow_step(slow, shared, builder)
    cancel = threading.Event()
    timer = threading.Timer(2.0, cancel.set)
    timer.start()
    start = time.monotonic()
    with pytest.raises(StepFailedError, match="cancelled"):
        slow.prepare(step, Limits(), quiet, cancel)
    timer.join()
    assert time.monotonic() - start < 40
    assert sleeping(api) == []


def sleeping(api):
    return [c["Id"] for c in api.containers(all=True) if "sleep 60" in c["Command"]]


def imported(api, content, name):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        info = tarfile.TarInfo("content")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    repository, _, tag = name.partition(":")
    api.import_image_from_data(file.getvalue(), repository=repository, tag=tag)


def test_base_that_became_another_is_not_used(tmp_path, api):
    name = "orchestrator-test/base:1"
    image = BaseImage(python="3.11", image=name, debian=None)
    runtime = DockerRuntime(tmp_path, settings("classic"), wheels(tmp_path))
    try:
        imported(api, b"one", name)
        base = runtime.base(image, quiet)
        assert base.origin == f"local image {name}"
        api.remove_image(name)
        imported(api, b"two", name)
        assert runtime.base(image, quiet) == base
        locked = lock()
        step = runtime.plan([(locked, base)]).chain(locked.digest)[-1]
        with pytest.raises(StepFailedError, match="start again"):
            runtime.prepare(step, Limits(), quiet, threading.Event())
        assert runtime.base(image, quiet).digest != base.digest
        assert runtime.base(image, quiet).digest == runtime.base(image, quiet).digest
    finally:
        api.remove_image(name)
        runtime.close()


def test_no_way_to_a_base(tmp_path):
    image = BaseImage(python="3.11", image="127.0.0.1:9/nothing:1", debian=None)
    runtime = DockerRuntime(tmp_path, settings("classic"), wheels(tmp_path))
    said = []
    start = time.monotonic()
    try:
        with pytest.raises(EnvironmentUnusableError) as caught:
            runtime.base(image, said.append)
    finally:
        runtime.close()
    assert time.monotonic() - start < 20
    message = str(caught.value)
    assert "no local image" in message
    assert "cannot be pulled" in message
    assert "no Debian suite" in message
    assert "\n" not in "".join(said)


def test_base_of_another_python_is_refused(tmp_path, runtime):
    wrong = replace(BASE, python="3.10", image=f"orchestrator-test/wrong:{tmp_path.name.lower()}")
    base = runtime.base(BASE, quiet)
    runtime._bases.ensure(base, quiet, timeout=300, cancel=threading.Event())
    api = connect(30)
    repository, _, tag = wrong.image.partition(":")
    api.tag(base.reference, repository, tag)
    try:
        locked = lock()
        with pytest.raises(StepFailedError) as caught:
            prepared(runtime, runtime.base(wrong, quiet), locked)
        assert "this image has Python 3.11, not 3.10" in caught.value.log
    finally:
        api.remove_image(wrong.image)
        api.close()
