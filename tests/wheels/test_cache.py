"""One download for everybody, within a limit, whatever happens in between."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.codec import to_json
from orchestrator.model import Distribution
from orchestrator.versions import Version
from orchestrator.wheels.cache import WheelCache
from orchestrator.wheels.download import BLOCK, FetchError, Patience
from orchestrator.wheels.shelf import Shelf
from upstream import Mood, Upstream, until

ROOT = Path(__file__).parents[2]
QUICK = Patience(connect=2.0, read=20.0, tries=3, pause=0.001, longest_pause=0.01)
PLENTY = 1 << 30
NEVER = threading.Event()


def name(number):
    return f"thing{number}-1.0-py3-none-any.whl"


def content(number, size):
    return random.Random(number).randbytes(size)  # noqa: S311


def wheel(up, number=1, size=1000, *moods, told=True):
    body = content(number, size)
    return Distribution(
        name=f"thing{number}",
        version=Version("1.0"),
        url=up.put(f"/{name(number)}", body, *moods),
        sha256=hashlib.sha256(body).hexdigest(),
        size=size if told else None,
        index="default",
    )


@pytest.fixture
def up():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def make(tmp_path):
    made = []

    def cache(root="cache", limit=PLENTY, **options):
        made.append(WheelCache(tmp_path / root, limit=limit, patience=QUICK, **options))
        return made[-1]

    yield cache
    for one in made:
        one.settle()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wheel")]


def used(cache, distribution, when):
    os.utime(cache.path(distribution), (when, when))


def files(root):
    return sorted(path.name for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))


def test_fetched_once(up, make, tmp_path):
    cache, one = make(), wheel(up)
    assert cache.path(one) is None
    path = cache.fetch(one, NEVER)
    assert path == cache.fetch(one, NEVER) == cache.path(one)
    assert path.read_bytes() == content(1, 1000)
    assert path.name == name(1)
    assert len(up.asked) == 1
    assert (cache.size(), cache.downloaded) == (1000, 1000)
    assert files(tmp_path / "cache") == ["CACHEDIR.TAG", name(1)]


def test_a_later_process_finds_it(up, make):
    one = wheel(up)
    path = make().fetch(one, NEVER)
    later = make()
    assert later.fetch(one, NEVER) == path
    assert (len(up.asked), later.downloaded) == (1, 0)


def test_own_file(up, make, tmp_path):
    path = tmp_path / "my wheels" / name(1)
    path.parent.mkdir()
    own = replace(wheel(up), url=path.as_uri())
    cache = make()
    with pytest.raises(FetchError, match="the file is not there"):
        cache.fetch(own, NEVER)
    path.write_bytes(b"own")
    assert cache.fetch(own, NEVER) == path
    assert cache.size() == 0


def test_bundle_serves_and_is_never_touched(up, make, tmp_path):
    one, two = wheel(up, 1), wheel(up, 2)
    bundled = make("bundle").fetch(one, NEVER)
    os.utime(bundled, (1, 1))
    cache = make(limit=1000, bundle=tmp_path / "bundle")
    assert cache.fetch(one, NEVER) == bundled
    assert bundled.stat().st_mtime == 1
    cache.fetch(two, NEVER)
    cache.clear()
    assert bundled.exists()
    assert cache.downloaded == 1000


def test_many_threads_one_download(up, make):
    gate = threading.Event()
    one, cache = wheel(up, 1, 3 * BLOCK, Mood(cut=BLOCK, gate=gate)), make()
    with ThreadPoolExecutor(16) as pool:
        paths = [pool.submit(cache.fetch, one, NEVER) for _ in range(16)]
        gate.set()
        assert len({path.result() for path in paths}) == 1
    assert len(up.asked) == 1
    assert cache.downloaded == 3 * BLOCK


FETCH = """
import json, sys, threading
from pathlib import Path
from orchestrator.codec import from_json
from orchestrator.model import Distribution
from orchestrator.wheels.cache import WheelCache
root, wheel = sys.argv[1:]
cache = WheelCache(Path(root), limit=1 << 30)
print("ready", flush=True)
input()
path = cache.fetch(from_json(Distribution, json.loads(wheel)), threading.Event())
print(json.dumps([str(path), cache.downloaded]))
"""


def test_two_processes_one_download(up, make, tmp_path):
    gate = threading.Event()
    one = wheel(up, 1, 3 * BLOCK, Mood(cut=BLOCK, gate=gate))
    command = [sys.executable, "-c", FETCH, str(tmp_path / "cache"), json.dumps(to_json(one))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with ExitStack() as opened:
        processes = [
            opened.enter_context(
                subprocess.Popen(
                    command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for _ in range(2)
        ]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
            process.stdin.write("go\n")
            process.stdin.flush()
        until(lambda: up.asked)
        gate.set()
        answers = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(up.asked) == 1
    assert len({path for path, _ in answers}) == 1
    assert sorted(downloaded for _, downloaded in answers) == [0, 3 * BLOCK]


def test_readers_do_not_wait_for_the_end(up, make):
    gate = threading.Event()
    one, cache = wheel(up, 1, 3 * BLOCK, Mood(cut=2 * BLOCK, gate=gate)), make()
    with cache.open(one, NEVER) as first, cache.open(one, NEVER) as second:
        for reading in (first, second):
            assert reading.size == 3 * BLOCK
            assert 0 < reading.available(0) < 3 * BLOCK
            assert os.pread(reading.file.fileno(), 100, 0) == content(1, 3 * BLOCK)[:100]
        assert cache.path(one) is None
        gate.set()
        for reading in (first, second):
            offset = 0
            while (end := reading.available(offset)) > offset:
                offset = end
            assert os.pread(reading.file.fileno(), 4 * BLOCK, 0) == content(1, 3 * BLOCK)
    assert len(up.asked) == 1


def read_until(reading, end):
    offset = 0
    while offset < end:
        offset = reading.available(offset)
    return offset


def test_no_reader_gets_all_of_a_wrong_wheel(up, make):
    size = 2 * BLOCK
    wrong = Mood(body=b"?" * size)
    one, cache = wheel(up, 1, size, wrong, wrong), make()
    with cache.open(one, NEVER) as reading:
        assert reading.size == size
        with pytest.raises(FetchError, match="wrong SHA-256"):
            read_until(reading, size)
    cache.settle()
    assert cache.size() == 0
    assert cache.fetch(one, NEVER).read_bytes() == content(1, size)


def test_who_has_read_something_wrong_is_told_when_it_is_right(up, make):
    size = 2 * BLOCK
    one, cache = wheel(up, 1, size, Mood(body=b"?" * size)), make()
    with (
        cache.open(one, NEVER) as reading,
        pytest.raises(FetchError, match="what the server sent first was wrong") as caught,
    ):
        read_until(reading, size)
    assert caught.value.transient
    assert cache.path(one).read_bytes() == content(1, size)
    assert len(up.asked) == 2


def test_errors_reach_all_who_wait(up, make):
    late = threading.Event()
    one, cache = wheel(up, 1, 1000, Mood(status=403, late=late)), make()
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(cache.fetch, one, NEVER) for _ in range(4)]
        until(lambda: up.asked)
        late.set()
        errors = [future.exception() for future in waiting]
    assert {type(error) for error in errors} <= {FetchError, type(None)}
    assert sum(isinstance(error, FetchError) for error in errors) >= 1


def test_one_who_leaves_does_not_take_it_from_others(up, make):
    gate, leaves = threading.Event(), threading.Event()
    one, cache = wheel(up, 1, 3 * BLOCK, Mood(cut=BLOCK, gate=gate)), make()
    with ThreadPoolExecutor(2) as pool:
        stays = pool.submit(cache.fetch, one, NEVER)
        with cache.open(one, leaves) as reading:
            reading.available(0)
            goes = pool.submit(cache.fetch, one, leaves)
            leaves.set()
            assert isinstance(goes.exception(), FetchError)
        gate.set()
        assert stays.result().exists()
    assert len(up.asked) == 1


def test_what_was_cancelled_is_resumed(up, make):
    gate, cancel = threading.Event(), threading.Event()
    one, cache = wheel(up, 1, 3 * BLOCK, Mood(cut=2 * BLOCK, gate=gate)), make()
    with pytest.raises(FetchError, match="cancelled"), cache.open(one, cancel) as reading:  # noqa: PT012
        until(lambda: reading.available(0) == 2 * BLOCK - 1)
        cancel.set()
        reading.available(2 * BLOCK)
    cache.settle()
    assert cache.size() == 2 * BLOCK
    assert make().fetch(one, NEVER).read_bytes() == content(1, 3 * BLOCK)
    assert up.ranges == [None, f"bytes={2 * BLOCK}-"]


def test_what_a_crash_left_is_resumed(up, make, tmp_path):
    one = wheel(up, 1, 3 * BLOCK)
    part = tmp_path / "cache" / "partial" / one.sha256
    part.parent.mkdir(parents=True)
    part.write_bytes(content(1, 3 * BLOCK)[:BLOCK])
    cache = make()
    assert cache.size() == BLOCK
    cache.fetch(one, NEVER)
    assert cache.downloaded == 2 * BLOCK
    cache.settle()
    assert files(tmp_path / "cache") == ["CACHEDIR.TAG", name(1)]


def test_least_recently_used_go_first(up, make):
    cache = make(limit=3500)
    wheels = [wheel(up, number) for number in range(4)]
    for number, one in enumerate(wheels[:3]):
        cache.fetch(one, NEVER)
        used(cache, one, 1000 + number)
    cache.path(wheels[0])  # a use
    cache.fetch(wheels[3], NEVER)
    assert [cache.path(one) is not None for one in wheels] == [True, False, True, True]
    assert cache.size() == 3000


def test_parts_that_nobody_holds_go_before_wheels(up, make, tmp_path):
    cache = make(limit=2500)
    one, two = wheel(up, 1), wheel(up, 2)
    cache.fetch(one, NEVER)
    used(cache, one, 1000)
    part = tmp_path / "cache" / "partial" / ("0" * 64)
    part.parent.mkdir(exist_ok=True)
    part.write_bytes(b"x" * 1000)
    cache.fetch(two, NEVER)
    assert not part.exists()
    assert cache.path(one) is not None


def test_a_running_download_is_never_evicted(up, make, tmp_path):
    gate = threading.Event()
    big, cache = wheel(up, 1, 3 * BLOCK, Mood(cut=2 * BLOCK, gate=gate)), make()
    with cache.open(big, NEVER) as reading:
        reading.available(0)
        cache.clear()
        make().clear()
        assert not Shelf(tmp_path / "cache").evict(0), "in another process neither"
        gate.set()
        assert cache.fetch(big, NEVER).read_bytes() == content(1, 3 * BLOCK)
    assert len(up.asked) == 1


def test_room_is_made_before_the_download(up, make):
    gate = threading.Event()
    cache = make(limit=4 * BLOCK)
    old, new = wheel(up, 1, 2 * BLOCK), wheel(up, 2, 3 * BLOCK, Mood(cut=0, gate=gate))
    cache.fetch(old, NEVER)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(cache.fetch, new, NEVER)
        until(lambda: cache.size() == 0)
        assert not coming.done()
        gate.set()
        coming.result()
    assert cache.size() == 3 * BLOCK


def test_a_wheel_larger_than_the_limit_serves_its_readers(up, make):
    cache, big = make(limit=1000), wheel(up, 1, 2 * BLOCK)
    with cache.open(big, NEVER) as reading, cache.open(big, NEVER) as other:
        offset = 0
        while (end := reading.available(offset)) > offset:
            offset = end
        cache.settle()
        assert os.pread(other.file.fileno(), 3 * BLOCK, 0) == content(1, 2 * BLOCK)
    cache.settle()
    assert cache.size() == 0
    assert cache.fetch(big, NEVER).exists()


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    uses=st.permutations(range(8)),
    limit=st.integers(0, 200),
)
def test_eviction_like_a_list(tmp_path_factory, sizes, uses, limit):
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    paths = []
    for number, size in enumerate(sizes):
        path = shelf.place(hashlib.sha256(b"%d" % number).hexdigest(), name(number))
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * size)
        os.utime(path, (uses[number], uses[number]))
        paths.append(path)
    kept = sorted(range(len(sizes)), key=lambda number: uses[number])
    while sum(sizes[number] for number in kept) > limit:
        kept.pop(0)
    assert shelf.evict(limit)
    assert [number for number, path in enumerate(paths) if path.exists()] == sorted(kept)
    assert shelf.size() == sum(sizes[number] for number in kept) <= limit


def test_clear(up, make, tmp_path):
    cache = make()
    cache.fetch(wheel(up), NEVER)
    cache.clear()
    assert cache.size() == 0
    assert files(tmp_path / "cache") == ["CACHEDIR.TAG"]


@pytest.mark.parametrize(
    "change",
    [
        {"url": "http://index.example/..%2F..%2Fetc%2Fthing-1.0-py3-none-any.whl"},
        {"url": "http://index.example/thing-1.0-1%2F..%2F..%2Fa-py3-none-any.whl"},
        {"url": "http://index.example/thing-1.0.tar.gz"},
        {"sha256": "../../" + "0" * 58},
        {"sha256": "0" * 63},
    ],
)
def test_hostile_names(up, make, tmp_path, change):
    cache, hostile = make(), replace(wheel(up), **change)
    assert cache.path(hostile) is None
    with pytest.raises(FetchError) as caught:
        cache.fetch(hostile, NEVER)
    assert not caught.value.transient
    assert not (tmp_path / "cache").exists()


def test_root_that_is_a_file(up, make, tmp_path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(FetchError, match="cannot be written") as caught:
        make().fetch(wheel(up), NEVER)
    assert not caught.value.transient
