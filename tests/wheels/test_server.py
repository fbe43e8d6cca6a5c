"""What an installer gets from this host's own index, and that nobody gets anything else."""

from __future__ import annotations

import http.client
import os
import random
import re
import socket
import subprocess
import threading
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from uv import find_uv_bin

from containers import distribution
from orchestrator.wheels.answering import _wanted
from orchestrator.wheels.cache import WheelCache
from orchestrator.wheels.download import BLOCK, Patience
from orchestrator.wheels.server import WheelServer
from upstream import Mood, Upstream
from wheelhouse import Wheelhouse

QUICK = Patience(connect=2.0, read=20.0, tries=2, pause=0.001, longest_pause=0.01)


@pytest.fixture
def up():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def cache(tmp_path):
    return WheelCache(tmp_path / "cache", limit=1 << 30, patience=QUICK)


@pytest.fixture
def server(cache):
    with WheelServer(cache) as running:
        yield running
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wheel")]


@pytest.fixture
def house(tmp_path):
    return Wheelhouse(tmp_path / "house")


def put(up, path, *moods, told=True):
    one = distribution(path, url=up.put(f"/{path.name}", path.read_bytes(), *moods))
    return one if told else replace(one, size=None)


def blob(up, size, *moods, told=True, name="big"):
    """A wheel by its name only: what is in it matters to nobody but an installer."""
    path = f"/{name}-1.0-py3-none-any.whl"
    content = random.Random(size).randbytes(size)  # noqa: S311
    from hashlib import sha256

    from orchestrator.model import Distribution
    from orchestrator.versions import Version

    return content, Distribution(
        name=name,
        version=Version("1.0"),
        url=up.put(path, content, *moods),
        sha256=sha256(content).hexdigest(),
        size=size if told else None,
        index="default",
    )


class Client:
    """One kept connection, as installers have them."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.base = parts.path.removesuffix("/simple/")
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def ask(self, path, method="GET", **headers):
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path, headers=fields)
        return self.connection.getresponse()

    def get(self, path, method="GET", **headers):
        response = self.ask(path, method, **headers)
        return response.status, response.headers, response.read()

    def wheel(self, one):
        return f"{self.base}/wheels/{one.sha256}/{urlsplit(one.url).path.rpartition('/')[2]}"


def install(offer, target, *lines, env=None):
    listed = target.parent / "requirements.txt"
    listed.write_text("".join(f"{line}\n" for line in lines))
    environment = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    return subprocess.run(
        [
            find_uv_bin(),
            *("pip", "install", "--no-deps", "--require-hashes", "--no-config", "--no-cache"),
            *("--default-index", offer.index_url, "-r", str(listed), "--target", str(target)),
        ],
        env=environment | {"UV_HTTP_RETRIES": "1"} | (env or {}),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def pin(one):
    return f"{one.name}=={one.version} --hash=sha256:{one.sha256}"


def test_uv_installs(up, house, server, cache, tmp_path):
    local = distribution(house.add("own", "2.0+cpu.1"))
    wheels = [put(up, house.add(f"thing-{letter}", "1.0")) for letter in "abc"]
    with server.offer([local, *wheels]) as offer:
        done = install(offer, tmp_path / "target", *map(pin, (local, *wheels)))
        assert done.returncode == 0, done.stderr
        assert offer.errors == {}
        assert offer.requests >= 8, "a page and a wheel of each"
    for module in ("own", "thing_a", "thing_b", "thing_c"):
        assert (tmp_path / "target" / module / "__init__.py").exists()
    assert len(up.asked) == 3
    again = WheelCache(tmp_path / "cache", limit=1 << 30)
    with WheelServer(again) as other, other.offer([local, *wheels]) as offer:
        assert install(offer, tmp_path / "again", *map(pin, (local, *wheels))).returncode == 0
    assert again.downloaded == 0


def test_uv_outlives_a_broken_upstream(up, house, server, tmp_path):
    path = house.add("thing", "1.0", {"thing/data.bin": "x" * 3 * BLOCK})
    one = put(up, path, Mood(status=503), Mood(cut=BLOCK + 7))
    with server.offer([one]) as offer:
        done = install(offer, tmp_path / "target", pin(one))
        assert done.returncode == 0, done.stderr
        assert offer.errors == {}
    assert up.ranges == [None, None, f"bytes={BLOCK}-"]


def test_uv_says_no_where_a_wheel_is_missing(up, house, server, tmp_path):
    path = house.add("thing", "1.0")
    one = put(up, path, *[Mood(status=404)] * 20)
    with server.offer([one]) as offer:
        assert install(offer, tmp_path / "target", pin(one)).returncode != 0
        assert list(offer.errors) == [path.name]
        assert "404" in str(offer.errors[path.name])
        assert not offer.errors[path.name].transient


def test_uv_gets_nothing_wrong(up, house, server, tmp_path):
    one = put(up, house.add("thing", "1.0"), *[Mood(body=b"?" * 5000)] * 20)
    with server.offer([one]) as offer:
        assert install(offer, tmp_path / "target", pin(one)).returncode != 0
        assert "wrong SHA-256" in str(*offer.errors.values())
    assert not (tmp_path / "target" / "thing").exists()


def test_pages(up, server):
    _, one = blob(up, 100, name="Some.Thing")
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        status, headers, page = client.get(f"{client.base}/simple/")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert re.findall(rb">([^<]+)</a>", page) == [b"some-thing"]
        for name in ("some-thing", "Some.Thing", "some%5Fthing"):
            status, _, page = client.get(f"{client.base}/simple/{name}/")
            (link,) = re.findall(r'href="([^"]+)"', page.decode())
            assert (status, link) == (200, f"{client.wheel(one)}#sha256={one.sha256}")
        assert offer.requests == 4
    assert up.asked == []


def test_everything_else_is_nowhere(up, server, tmp_path):
    content, one = blob(up, 100)
    _, other = blob(up, 200, name="other")
    with server.offer([one]) as offer, server.offer([other]) as second, Client(offer.index_url) as client:
        stranger = Client(second.index_url)
        paths = [
            *("/", "//", "/simple/", "/simple/big/", "*", "x", f"{client.base}", f"{client.base}/"),
            *(f"{client.base}/simple/other/", f"{client.base}/simple/big", f"{client.base}/simple/big/x"),
            *(client.wheel(other), client.wheel(one) + "/", client.wheel(one).upper()),
            f"{client.base}/wheels/{one.sha256}/..%2F..%2FCACHEDIR.TAG",
            f"{client.base}/wheels/../../../../../../etc/passwd",
            f"{client.base}/simple/..%2F..%2F..%2Fetc/",
            f"/{'x' * 24}/simple/big/",
            stranger.wheel(one),
        ]
        for path in paths:
            assert client.get(path)[0] == 404, path
        assert client.get(client.wheel(one))[2] == content
        for method in ("POST", "PUT", "DELETE"):
            with Client(offer.index_url) as rude:
                assert rude.ask(client.wheel(one), method).status == 501


def test_after_the_build_nothing_is_left(up, server):
    content, one = blob(up, 100)
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        assert client.get(client.wheel(one))[2] == content
    with Client(offer.index_url) as client:
        assert client.get(f"{client.base}/simple/big/")[0] == 404
        assert client.get(client.wheel(one))[0] == 404


def test_tokens_differ(server):
    with server.offer([]) as one, server.offer([]) as other:
        assert one.token != other.token
        assert len(one.token) >= 20


def test_head(up, server):
    content, one = blob(up, 5000)
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        for times in range(2):
            status, headers, body = client.get(client.wheel(one), "HEAD")
            assert (status, headers["Content-Length"], headers["Accept-Ranges"]) == (200, "5000", "bytes")
            assert body == b""
            assert len(up.asked) == times, "asked for its length only, it is not downloaded"
            assert client.get(client.wheel(one))[2] == content
        assert client.get(f"{client.base}/simple/big/", "HEAD")[2] == b""


def test_head_where_the_index_tells_no_size(up, server):
    _, one = blob(up, 5000, told=False)
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        assert client.get(client.wheel(one), "HEAD")[1]["Content-Length"] == "5000"


@pytest.mark.parametrize(
    ("asked", "status", "start", "stop"),
    [
        ("bytes=0-0", 206, 0, 1),
        ("bytes=10-19", 206, 10, 20),
        ("bytes=4990-", 206, 4990, 5000),
        ("bytes=-7", 206, 4993, 5000),
        ("bytes=-9999", 206, 0, 5000),
        ("bytes=4000-9999", 206, 4000, 5000),
        ("bytes=5000-", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
        ("bytes=9-3", 200, 0, 5000),
        ("bytes=0-1,5-6", 200, 0, 5000),
        ("bytes=-", 200, 0, 5000),
        ("lines=1-2", 200, 0, 5000),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_ranges(up, server, cache, asked, status, start, stop, known):
    content, one = blob(up, 5000)
    if known:
        cache.fetch(one, threading.Event())
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        got, headers, body = client.get(client.wheel(one), Range=asked)
        assert (got, body) == (status, content[start:stop])
        if status == 206:
            assert headers["Content-Range"] == f"bytes {start}-{stop - 1}/5000"
        assert client.get(client.wheel(one))[2] == content, "on the same connection"


def test_range_of_another_file(up, server):
    content, one = blob(up, 5000)
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        tag = client.get(client.wheel(one), "HEAD")[1]["ETag"]
        assert client.get(client.wheel(one), Range="bytes=9-", If_Range=tag)[0] == 206
        assert client.get(client.wheel(one), Range="bytes=9-", If_Range='"x"')[::2] == (200, content)


def test_wanted_never_leaves_the_file():
    for size in range(1, 5):
        for first in ("", "0", "1", "3", "9"):
            for last in ("", "0", "2", "9"):
                wanted = _wanted(f"bytes={first}-{last}", size)
                assert wanted is None or wanted[1] <= size


def test_first_bytes_come_before_the_last_are_there(up, server):
    gate = threading.Event()
    content, one = blob(up, 3 * BLOCK, Mood(cut=2 * BLOCK, gate=gate))
    with server.offer([one]) as offer, Client(offer.index_url) as client, Client(offer.index_url) as other:
        responses = [each.ask(client.wheel(one)) for each in (client, other)]
        for response in responses:
            assert response.read(BLOCK) == content[:BLOCK]
        assert not gate.is_set()
        gate.set()
        for response in responses:
            assert response.read() == content[BLOCK:]
    assert len(up.asked) == 1


def test_unknown_length(up, server):
    content, one = blob(up, 3 * BLOCK, Mood(announce=None), told=False)
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        response = client.ask(client.wheel(one))
        assert response.headers["Transfer-Encoding"] == "chunked"
        assert response.read() == content
        assert client.get(client.wheel(one))[1]["Content-Length"] == str(3 * BLOCK)


def test_old_protocol(up, server):
    content, one = blob(up, 2 * BLOCK, Mood(announce=None), told=False)
    with server.offer([one]) as offer:
        parts = urlsplit(offer.index_url)
        with Client(offer.index_url) as client, socket.create_connection((parts.hostname, parts.port)) as line:
            line.sendall(f"GET {client.wheel(one)} HTTP/1.0\r\n\r\n".encode())
            with line.makefile("rb") as answer:
                assert answer.read().endswith(b"\r\n\r\n" + content)


@pytest.mark.parametrize(("upstream", "answer"), [(404, 404), (403, 404), (503, 502)])
def test_trouble_is_told(up, server, upstream, answer):
    _, one = blob(up, 100, *[Mood(status=upstream)] * (2 if answer == 502 else 1))
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        status, _, body = client.get(client.wheel(one))
        assert status == answer
        assert f"answers {upstream}" in body.decode()
        (error,) = offer.errors.values()
        assert error.transient is (answer == 502)
        assert client.get(client.wheel(one))[0] == 200
        assert offer.errors == {}, "it came after all"


def test_download_that_breaks_for_good(up, server):
    _, one = blob(up, 3 * BLOCK, Mood(cut=2 * BLOCK), *[Mood(status=403)] * 3)
    with server.offer([one]) as offer, Client(offer.index_url) as client:
        response = client.ask(client.wheel(one))
        assert response.headers["Content-Length"] == str(3 * BLOCK)
        with pytest.raises(http.client.IncompleteRead):
            response.read()
        assert list(offer.errors) == ["big-1.0-py3-none-any.whl"]


def test_what_is_no_wheel_is_an_error_from_the_start(up, server):
    _, one = blob(up, 100)
    with server.offer([replace(one, url="http://index.example/big-1.0.tar.gz")]) as offer:
        assert list(offer.errors) == ["big"]
        with Client(offer.index_url) as client:
            assert client.get(f"{client.base}/simple/big/")[0] == 404


def test_request_with_a_body_is_no_two_requests(up, server):
    _, one = blob(up, 100)
    with server.offer([one]) as offer:
        parts = urlsplit(offer.index_url)
        with socket.create_connection((parts.hostname, parts.port)) as line:
            hidden = b"GET / HTTP/1.1\r\n\r\n"
            head = f"GET {parts.path} HTTP/1.1\r\nContent-Length: {len(hidden)}\r\n\r\n"
            line.sendall(head.encode() + hidden)
            with line.makefile("rb") as answer:
                assert answer.read().count(b"HTTP/1.1 ") == 1


def test_many_at_once(up, server):
    content, one = blob(up, 5 * BLOCK)
    with server.offer([one]) as offer:
        wrong = []

        def read():
            with Client(offer.index_url) as client:
                for _ in range(3):
                    if client.get(client.wheel(one))[2] != content:
                        wrong.append(1)

        threads = [threading.Thread(target=read) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len(up.asked) == 1


@pytest.mark.parametrize("ends", ["offer", "server"])
def test_end_cuts_off_whoever_reads(up, cache, ends):
    gate = threading.Event()
    content, one = blob(up, 3 * BLOCK, Mood(cut=2 * BLOCK, gate=gate))
    server = WheelServer(cache)
    server.start()
    offering = server.offer([one])
    offer = offering.__enter__()
    with Client(offer.index_url) as client, Client(offer.index_url) as idle:
        idle.get(f"{client.base}/simple/")
        response = client.ask(client.wheel(one))
        assert response.read(BLOCK) == content[:BLOCK]
        if ends == "server":
            server.close()
        offering.__exit__(None, None, None)
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            response.read()
        server.close()
        assert not gate.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wheel")]
    assert offer.errors == {}, "that is nobody's fault"


def test_closed_twice_and_not_started(cache):
    server = WheelServer(cache)
    server.close()
    with pytest.raises(RuntimeError), server.offer([]):
        pass
    with server:
        pass
    server.close()


def test_only_this_host_is_answered(server):
    with server.offer([]) as offer:
        assert urlsplit(offer.index_url).hostname == "127.0.0.1"
        assert server._server.socket.getsockname()[0] == "127.0.0.1"
