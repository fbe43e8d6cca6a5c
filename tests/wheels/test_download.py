"""A wheel comes whole or not at all, whatever the server does."""

from __future__ import annotations

import errno
import hashlib
import random
import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from io import FileIO
from pathlib import Path

import pytest

from orchestrator.certificates import ca_bundle
from orchestrator.wheels.download import BLOCK, FetchError, Patience, download
from orchestrator.wheels.naming import described, wheel_name
from orchestrator.wheels.setbacks import retry_after
from upstream import Mood, Upstream, until

CONTENT = random.Random(7).randbytes(3 * BLOCK + 12345)  # noqa: S311
NAME = "thing-1.0-py3-none-any.whl"
PATH = f"/a/{NAME}"
QUICK = Patience(connect=2.0, read=0.3, tries=4, pause=0.001, longest_pause=0.01)


class Notes:
    def __init__(self):
        self.received = 0
        self.totals = []
        self.drops = []

    def started(self, total):
        self.totals.append(total)

    def grew(self, length, received):
        self.received += received

    def dropped(self, *, wrong):
        self.drops.append(wrong)


@pytest.fixture
def up():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def target(tmp_path):
    return tmp_path / "part"


def get(url, target, *, content=CONTENT, size=None, cancel=None, patience=QUICK, notes=None):
    notes = notes or Notes()
    target.touch()
    with target.open("r+b", buffering=0) as file:
        download(
            url,
            file,
            sha256=hashlib.sha256(content).hexdigest(),
            size=size,
            follower=notes,
            cancel=cancel or threading.Event(),
            patience=patience,
        )
    assert target.read_bytes() == content
    return notes


def test_in_one_piece(up, target):
    notes = get(up.put(PATH, CONTENT), target)
    assert up.ranges == [None]
    assert (notes.totals, notes.received, notes.drops) == ([len(CONTENT)], len(CONTENT), [])


def test_fragment_is_not_sent(up, target):
    get(up.put(PATH, CONTENT) + "#sha256=00", target)
    assert [asked.path for asked in up.asked] == [PATH]


@pytest.mark.parametrize("headers", [{}, {"ETag": '"one"'}])
def test_resumed_where_it_broke(up, target, headers):
    cut = 2 * BLOCK + 100
    notes = get(up.put(PATH, CONTENT, Mood(cut=cut, headers=headers), Mood(headers=headers)), target)
    start = int(up.ranges[1].removeprefix("bytes=").removesuffix("-"))
    assert start >= 2 * BLOCK
    assert up.sent == cut + len(CONTENT) - start
    assert up.asked[1].headers.get("If-Range") == headers.get("ETag")
    assert notes.drops == []


def test_changed_file_is_not_mixed(up, target):
    other = random.Random(8).randbytes(len(CONTENT))  # noqa: S311
    first = Mood(body=other, cut=2 * BLOCK, headers={"ETag": '"old"'})
    notes = get(up.put(PATH, CONTENT, first, Mood(headers={"ETag": '"new"'})), target)
    assert notes.drops == [False], "If-Range told it"


def test_weak_validators_are_not_used(up, target):
    weak = {"ETag": 'W/"one"'}
    get(up.put(PATH, CONTENT, Mood(cut=BLOCK, headers=weak), Mood(headers=weak)), target)
    assert "If-Range" not in up.asked[1].headers


def test_leftover_of_a_crash_is_resumed(up, target):
    target.write_bytes(CONTENT[:BLOCK])
    notes = get(up.put(PATH, CONTENT), target)
    assert up.ranges == [f"bytes={BLOCK}-"]
    assert up.sent == notes.received == len(CONTENT) - BLOCK


def test_leftover_that_is_whole_needs_no_server(target):
    target.write_bytes(CONTENT)
    get(f"http://127.0.0.1:9/{NAME}", target)


@pytest.mark.parametrize("leftover", [b"x" * BLOCK, CONTENT + b"more", CONTENT[:-1] + b"?"])
def test_wrong_leftover_is_thrown_away(up, target, leftover):
    target.write_bytes(leftover)
    notes = get(up.put(PATH, CONTENT), target)
    assert up.ranges[-1] is None
    assert notes.drops == [True]


def test_server_without_ranges_starts_again(up, target):
    moods = [Mood(cut=2 * BLOCK, ranges=False), Mood(ranges=False)]
    notes = get(up.put(PATH, CONTENT, *moods), target)
    assert up.sent == 2 * BLOCK + len(CONTENT)
    assert notes.drops == [False]


def test_server_that_answers_another_range(up, target):
    target.write_bytes(CONTENT[:BLOCK])
    wrong = Mood(ranges=False, headers={"Content-Range": f"bytes 5-9/{len(CONTENT)}"}, status=206)
    get(up.put(PATH, CONTENT, wrong), target)
    assert up.ranges == [f"bytes={BLOCK}-", None]


def test_validator_of_the_second_answer_counts(up, target):
    other = random.Random(8).randbytes(len(CONTENT))  # noqa: S311
    first = Mood(body=other, cut=BLOCK, headers={"ETag": '"old"'})
    second = Mood(cut=2 * BLOCK, headers={"ETag": '"new"'})
    get(up.put(PATH, CONTENT, first, second, Mood(headers={"ETag": '"new"'})), target)
    assert [asked.headers.get("If-Range") for asked in up.asked] == [None, '"old"', '"new"']
    assert up.ranges[-1] == f"bytes={2 * BLOCK}-"


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_passing_trouble(up, target, status):
    get(up.put(PATH, CONTENT, Mood(status=status), Mood(status=status)), target)
    assert len(up.asked) == 3


def test_a_line_that_always_breaks_but_goes_on(up, target):
    content = CONTENT * 3
    cuts = [Mood(cut=BLOCK + 1)] * 30  # a block that is not whole when the line breaks is lost
    get(up.put(PATH, content, *cuts), target, content=content)
    assert len(up.asked) > 2 * QUICK.tries


@pytest.mark.parametrize("moods", [[Mood(cut=0)], [Mood(status=503)], [Mood(cut=10, ranges=False)]])
def test_gives_up_where_nothing_new_comes(up, target, moods):
    with pytest.raises(FetchError) as caught:
        get(up.put(PATH, CONTENT, *(moods * 20)), target)
    assert caught.value.transient
    assert QUICK.tries <= len(up.asked) <= QUICK.tries + 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_what_no_retry_cures(up, target, status):
    with pytest.raises(FetchError, match=f"answers {status}") as caught:
        get(up.put(PATH, CONTENT, Mood(status=status)), target)
    assert not caught.value.transient
    assert len(up.asked) == 1


def test_wrong_content_is_tried_once_more(up, target):
    wrong = Mood(body=b"?" * len(CONTENT))
    notes = get(up.put(PATH, CONTENT, wrong), target)
    assert up.ranges == [None, None]
    assert notes.drops == [True]


def test_wrong_content_is_permanent(up, target):
    wrong = Mood(body=b"?" * len(CONTENT))
    with pytest.raises(FetchError, match="wrong SHA-256") as caught:
        get(up.put(PATH, CONTENT, wrong, wrong, wrong), target)
    assert not caught.value.transient
    assert len(up.asked) == 2


def test_after_wrong_content_nothing_is_resumed(up, target):
    wrong = Mood(body=b"?" * len(CONTENT))
    get(up.put(PATH, CONTENT, wrong, Mood(cut=2 * BLOCK)), target)
    assert up.ranges == [None, None, None]


@pytest.mark.parametrize(("announce", "transient"), [(len(CONTENT) + 9, True), (len(CONTENT) - 9, False)])
def test_wrong_length(up, target, announce, transient):
    with pytest.raises(FetchError) as caught:
        get(up.put(PATH, CONTENT, *([Mood(announce=announce, ranges=False)] * 20)), target)
    assert caught.value.transient is transient


def test_without_a_length_the_index_tells_it(up, target):
    get(up.put(PATH, CONTENT, Mood(announce=None, cut=2 * BLOCK)), target, size=len(CONTENT))
    assert up.ranges == [None, f"bytes={2 * BLOCK}-"]


def test_stalled_server(up, target):
    gate = threading.Event()
    get(up.put(PATH, CONTENT, Mood(cut=2 * BLOCK, gate=gate)), target)
    assert up.ranges == [None, f"bytes={2 * BLOCK}-"]
    gate.set()


def test_server_that_never_answers(up, target):
    late = threading.Event()
    with pytest.raises(FetchError, match="stalled") as caught:
        get(up.put(PATH, CONTENT, *([Mood(late=late)] * QUICK.tries)), target)
    assert caught.value.transient
    late.set()


def test_redirect(up, target):
    url = up.put(PATH, CONTENT)
    get(up.put(f"/old/{NAME}", b"", Mood(status=302, headers={"Location": url})), target)


def test_redirect_in_circles(up, target):
    url = f"http://{up.address}{PATH}"
    with pytest.raises(FetchError, match="circles") as caught:
        get(up.put(PATH, b"", *([Mood(status=302, headers={"Location": url})] * 50)), target)
    assert not caught.value.transient


@pytest.mark.parametrize(("value", "waits"), [(None, None), ("soon", None), ("7", 7)])
def test_retry_after(value, waits):
    assert retry_after(value) == waits


def test_retry_after_a_moment():
    now = datetime.now(UTC)
    assert 3000 <= retry_after(format_datetime(now + timedelta(hours=1), usegmt=True)) <= 3600
    assert retry_after(format_datetime(now - timedelta(hours=1), usegmt=True)) == 0


def test_retry_after_is_followed_within_limits(up, target):
    class Waits(threading.Event):
        seconds = None

        def wait(self, timeout=None):
            self.seconds = timeout
            return super().wait(0)

    for asked, waited in (("2", 2.0), ("86400", 30.0)):
        cancel = Waits()
        target.unlink(missing_ok=True)
        url = up.put(PATH, CONTENT, Mood(status=429, headers={"Retry-After": asked}))
        get(url, target, cancel=cancel, patience=Patience(longest_pause=30.0))
        assert cancel.seconds == waited


@pytest.mark.parametrize("mood", [{"cut": BLOCK + 5}, {"late": True}])
def test_cancel_does_not_wait_for_the_server(up, target, mood):
    gate = threading.Event()
    mood = Mood(late=gate) if "late" in mood else Mood(gate=gate, **mood)
    cancel = threading.Event()
    url = up.put(PATH, CONTENT, mood)

    def stop():
        until(lambda: up.asked and up.asked[0].sent >= (mood.cut or 0))
        cancel.set()

    stopping = threading.Thread(target=stop)
    stopping.start()
    # With this patience the test would be killed before the download gives up by itself.
    with pytest.raises(FetchError, match="cancelled") as caught:
        get(url, target, cancel=cancel, patience=Patience(read=100_000.0, pause=100_000.0))
    stopping.join()
    assert caught.value.transient
    assert not gate.is_set()


def test_cancel_during_a_pause(up, target):
    cancel = threading.Event()
    url = up.put(PATH, CONTENT, Mood(status=503))
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    with pytest.raises(FetchError, match="cancelled"):
        get(url, target, cancel=cancel, patience=Patience(pause=100_000.0, longest_pause=100_000.0))
    timer.join()


def test_nobody_listens(target):
    with pytest.raises(FetchError, match=f"{NAME} from 127.0.0.1:9: connection refused") as caught:
        get(f"http://127.0.0.1:9/{NAME}", target)
    assert caught.value.transient


def test_unknown_host(target):
    with pytest.raises(FetchError, match="does not resolve"):
        get(f"http://index.invalid/{NAME}", target)


@pytest.mark.parametrize("url", [f"ftp://index.example/{NAME}", f"http:///{NAME}", NAME, f"http://[::1/{NAME}"])
def test_url_that_makes_no_sense(target, url):
    with pytest.raises(FetchError, match="cannot be used") as caught:
        get(url, target)
    assert not caught.value.transient


class SmallDisk(FileIO):
    """A file on a disk of two and a half blocks."""

    def write(self, data):
        if self.tell() + len(data) > 2.5 * BLOCK:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_full_disk(up, target):
    target.touch()
    url, notes = up.put(PATH, CONTENT), Notes()
    digest = hashlib.sha256(CONTENT).hexdigest()
    with SmallDisk(target, "r+b") as file, pytest.raises(FetchError, match="the disk is full") as caught:
        download(url, file, sha256=digest, size=None, follower=notes, cancel=threading.Event(), patience=QUICK)
    assert not caught.value.transient
    assert target.stat().st_size == 0, "the space is given back"


@pytest.mark.parametrize(
    "moods", [[Mood(status=401)], [Mood(status=503)] * 9, [Mood(cut=5)] * 9, [Mood(body=b"no")] * 2]
)
def test_secrets_never_appear(up, target, moods):
    up.put(f"{PATH}?token=hush", CONTENT, *moods)
    url = f"http://user:hush@{up.address}{PATH}?token=hush#hush"
    with pytest.raises(FetchError) as caught:
        get(url, target)
    assert str(caught.value).startswith(f"{NAME} from {up.address}: ")
    assert "hush" not in str(caught.value)
    assert "user" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1:9", "index.invalid", "[::1"])
def test_secrets_never_appear_without_a_server(target, host):
    with pytest.raises(FetchError) as caught:
        get(f"http://user:hush@{host}/{NAME}?hush", target)
    assert "hush" not in str(caught.value)


def test_credentials_are_sent(up, target):
    url = up.put(PATH, CONTENT).replace("http://", "http://user:hush@")
    get(url, target)
    assert up.asked[0].headers["Authorization"].startswith("Basic ")


def test_proxy_of_the_host_is_used(up, target, monkeypatch):
    url = f"http://index.example{PATH}"
    up.put(url, CONTENT)
    monkeypatch.setenv("http_proxy", f"http://{up.address}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    get(url, target)
    assert [asked.path for asked in up.asked] == [url]


@contextmanager
def only(monkeypatch, **variables):
    for name in ("ORCHESTRATOR_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    yield


def test_whose_certificates(tmp_path, monkeypatch):
    first, second = tmp_path / "first.pem", tmp_path / "second.pem"
    first.touch()
    second.touch()
    with only(monkeypatch, SSL_CERT_FILE=second):
        assert ca_bundle() == second
    with only(monkeypatch, SSL_CERT_FILE=second, ORCHESTRATOR_CA_BUNDLE=first):
        assert ca_bundle() == first
    with only(monkeypatch, CURL_CA_BUNDLE=first, REQUESTS_CA_BUNDLE=tmp_path / "gone.pem"):
        assert ca_bundle() == first
    with only(monkeypatch):
        default = ssl.get_default_verify_paths().cafile
        assert default is None or ca_bundle() == Path(default)


@pytest.mark.parametrize(
    "url",
    [
        "https://index.example/",
        "https://index.example/thing-1.0.tar.gz",
        "https://index.example/thing.whl",
        "https://index.example/..%2F..%2Fthing-1.0-py3-none-any.whl",
        "https://index.example/thing-1.0-1%2F..%2F..%2Fx-py3-none-any.whl",
        "https://index.example/thing-1.0-py3-none-any%2F..%2Fx.whl",
        "https://index.example/thing-1.0-py3-none-any%00.whl",
        "https://index.example/thing-1.0-py3-none-any%0a.whl",
        "https://index.example/thing-1.0-py3-none-\N{CYRILLIC SMALL LETTER A}ny.whl",
        "https://index.example/thing-1.0-py3-none-" + "a" * 250 + ".whl",
        "https://[index.example/thing-1.0-py3-none-any.whl",
        "..",
        "",
    ],
)
def test_hostile_names(url):
    with pytest.raises(ValueError, match="is not the name of a wheel") as caught:
        wheel_name(url)
    for text in (str(caught.value), described(url)):
        assert text.isprintable()
        assert text.isascii()


def test_names():
    url = "https://user:hush@index.example:8443/whl/cu121/torch-2.6.0%2Bcu121-cp311-cp311-linux_x86_64.whl?key=hush#x"
    assert wheel_name(url) == "torch-2.6.0+cu121-cp311-cp311-linux_x86_64.whl"
    assert described(url) == "torch-2.6.0+cu121-cp311-cp311-linux_x86_64.whl from index.example:8443"
