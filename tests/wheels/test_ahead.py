"""Downloads that run ahead of the builds."""

import hashlib
import threading

import pytest

from orchestrator.model import Distribution
from orchestrator.versions import Version
from orchestrator.wheels.ahead import Ahead
from orchestrator.wheels.cache import WheelCache
from upstream import Mood, Upstream, until

SIZE = 1000


@pytest.fixture
def upstream():
    with Upstream() as server:
        yield server


@pytest.fixture
def cache(tmp_path):
    made = WheelCache(tmp_path / "wheels", limit=10**6)
    yield made
    made.settle()


def published(upstream, name, *moods):
    content = name.encode() * (SIZE // len(name))
    url = upstream.put(f"/{name}-1.0-py3-none-any.whl", content, *moods)
    return Distribution(
        name=name,
        version=Version("1.0"),
        url=url,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        index="default",
    )


def asked(upstream):
    return [one.path[1:].partition("-")[0] for one in upstream.asked]


def test_what_is_expected_comes_in_order_and_once(upstream, cache):
    wheels = [published(upstream, name) for name in ("aaaa", "bbbb", "cccc")]
    ahead = Ahead(cache, most=10**6)
    ahead.expect([wheels[0], wheels[1]])
    ahead.expect(wheels)
    until(lambda: all(cache.path(wheel) for wheel in wheels))
    ahead.close()
    assert sorted(asked(upstream)) == ["aaaa", "bbbb", "cccc"]
    assert asked(upstream)[-1] == "cccc"


def test_no_further_ahead_than_the_limit_until_what_came_is_used(upstream, cache):
    wheels = [published(upstream, name) for name in ("aaaa", "bbbb", "cccc", "dddd")]
    ahead = Ahead(cache, most=2 * SIZE)
    ahead.expect(wheels)
    until(lambda: cache.path(wheels[0]) and cache.path(wheels[1]))
    ahead.used([wheels[1]])
    until(lambda: cache.path(wheels[2]))
    ahead.used([wheels[3]])  # the build has come first: it is no longer ahead of anything
    ahead.used(wheels[:3])
    ahead.close()
    assert sorted(asked(upstream)) == ["aaaa", "bbbb", "cccc"]


def test_what_cannot_be_had_is_left_to_the_build(upstream, cache):
    gone = published(upstream, "gone", Mood(status=404))
    there = published(upstream, "there")
    ahead = Ahead(cache, most=SIZE)
    ahead.expect([gone, there])
    until(lambda: cache.path(there))
    ahead.close()
    assert cache.path(gone) is None


def test_closing_ends_a_download_that_hangs(upstream, cache):
    late = threading.Event()
    stuck = published(upstream, "stuck", Mood(late=late))
    ahead = Ahead(cache, most=10**6)
    ahead.expect([stuck])
    until(lambda: upstream.asked)
    ahead.close()
    late.set()
    ahead.expect([published(upstream, "more")])
    assert asked(upstream) == ["stuck"]


def test_a_build_shares_the_download_that_is_under_way(upstream, cache):
    gate = threading.Event()
    wheel = published(upstream, "shared", Mood(cut=100, gate=gate))
    ahead = Ahead(cache, most=10**6)
    ahead.expect([wheel])
    until(lambda: upstream.asked)
    threading.Timer(0.2, gate.set).start()
    assert cache.fetch(wheel, threading.Event()).read_bytes() == b"shared" * (SIZE // 6)
    ahead.close()
    assert asked(upstream) == ["shared"]
