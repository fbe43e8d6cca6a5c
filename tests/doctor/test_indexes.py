from __future__ import annotations

import shutil
import ssl
import subprocess
from functools import partial
from threading import Event

import pytest

from bad_servers import answer, bomb, endless, server, silent, trickling, trickling_head
from orchestrator.doctor.finding import Level
from orchestrator.doctor.indexes import IndexSeen, Reply, judge_bundle, judge_index, late_index
from orchestrator.doctor.inquiry import Inquiry, LateError, end
from orchestrator.doctor.scope import IndexAsked
from orchestrator.doctor.world import indexes as world_indexes

HTML = b'<html><a href="torch-2.0-py3-none-any.whl#sha256=00">torch-2.0-py3-none-any.whl</a></html>'
JSON = b'{"meta": {"api-version": "1.0"}, "files": [{"filename": "torch-2.0.tar.gz", "url": "x"}]}'


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """No proxy and no bundle of this host, and less patience."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(world_indexes, "PATIENCE", 5.0)
    monkeypatch.setattr(world_indexes, "_STEP", 1.0)


def look(url, *projects):
    return world_indexes.look_at_index(IndexAsked(name="it", url=url, projects=projects or ("torch",)), Event())


def served(script, scheme="http", tls=None):
    with server(script, tls) as port:
        return look(f"{scheme}://127.0.0.1:{port}/simple")


@pytest.mark.parametrize(
    ("script", "reply"),
    [
        (answer(HTML), Reply.PAGE),
        (answer(JSON, kind="application/vnd.pypi.simple.v1+json"), Reply.PAGE),
        (answer(b" " * 200_000 + HTML), Reply.PAGE),
        (answer(b"<html>Welcome, please log in</html>"), Reply.NO_PAGE),
        (answer(b""), Reply.NO_PAGE),
        (answer(b" " * 400_000 + HTML), Reply.NO_PAGE),
        (answer(b"", status="404 Not Found"), Reply.NO_PROJECT),
        (answer(b"", status="403 Forbidden"), Reply.NO_PROJECT),
        (answer(b"", status="401 Unauthorized"), Reply.STATUS),
        (answer(b"", status="503 \x1b[31mred\x1b[0m"), Reply.STATUS),
        (answer(b"", status="302 Found", more="Location: /simple/torch/\r\n"), Reply.OTHER),
        (answer(b"not gzip", more="Content-Encoding: gzip\r\n"), Reply.OTHER),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Reply.OTHER),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 100_000 + b"\r\n\r\n", Reply.OTHER),
        (b"", Reply.OTHER),
        (silent, Reply.TIMEOUT),
        (endless, Reply.NO_PAGE),
        (bomb, Reply.NO_PAGE),
    ],
    ids=range(18),
)
def test_what_a_server_answers(script, reply):
    seen = served(script)
    assert seen.reply is reply, seen
    assert len(seen.reason) <= 200


@pytest.mark.parametrize("script", [trickling, trickling_head])
def test_a_server_that_sends_byte_after_byte_is_left_behind(script):
    with server(script) as port:
        index = IndexAsked(name="it", url=f"http://127.0.0.1:{port}", projects=("torch",))
        inquiry = Inquiry(partial(world_indexes.look_at_index, index), patience=0.5)
        with pytest.raises(LateError):
            inquiry.answer()
    end([inquiry], grace=5)


def test_the_status_is_told():
    assert served(answer(b"", status="503 No")).status == 503


def test_nobody_listens():
    with server(b"") as port:
        pass
    assert look(f"http://127.0.0.1:{port}").reply is Reply.REFUSED


def test_a_name_that_does_not_resolve():
    assert look("https://nowhere.invalid/simple").reply is Reply.NAME


def test_a_server_without_tls_behind_https():
    assert served(answer(HTML), scheme="https").reply is Reply.TLS


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_that_is_not_trusted(tmp_path):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "1",
         "-keyout", tmp_path / "key", "-out", tmp_path / "cert"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    seen = served(answer(HTML), scheme="https", tls=tls)
    assert seen.reply is Reply.CERTIFICATE
    assert "self" in seen.reason


@pytest.mark.parametrize(
    ("script", "reply", "status"),
    [
        (answer(b"", status="407 Proxy Authentication Required"), Reply.STATUS, 407),
        (answer(b"", status="502 Bad Gateway"), Reply.PROXY, None),
        (b"", Reply.OTHER, None),
    ],
)
def test_a_proxy_that_does_not_let_us_through(monkeypatch, script, reply, status):
    with server(script) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:geheim@127.0.0.1:{port}")
        seen = look("https://index.invalid/simple")
    assert (seen.reply, seen.status) == (reply, status)
    assert seen.proxy == f"http://***@127.0.0.1:{port}"
    assert "geheim" not in repr(seen)


@pytest.mark.parametrize(
    "proxy", ["http://", "http://me:geheim@", "socks5://127.0.0.1:1", "http://[bad", "http://a:x"]
)
def test_a_proxy_that_is_none(monkeypatch, proxy):
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    seen = look("https://index.invalid/simple")
    assert seen.reply in (Reply.PROXY, Reply.OTHER, Reply.NAME)
    (found,) = judge_index(seen, default=False)
    assert found.level is Level.PROBLEM


@pytest.mark.parametrize("url", ["https://", "nonsense", "https://[::1/", "ftp://127.0.0.1/x", "http://a:b:c/"])
def test_an_address_that_is_none(url):
    assert look(url).reply in (Reply.OTHER, Reply.NAME)


def test_credentials_in_an_address_are_hidden():
    with server(answer(HTML)) as port:
        seen = look(f"http://me:geheim@127.0.0.1:{port}/simple")
    assert seen.url == f"http://***@127.0.0.1:{port}/simple"
    assert seen.reply is Reply.PAGE


def test_an_index_that_has_only_the_second_project():
    def some(line, _over):
        request = line.recv(65536)
        line.sendall(answer(HTML) if b"/torch/" in request else answer(b"", status="404 Not Found"))

    with server(some) as port:
        assert look(f"http://127.0.0.1:{port}", "ipex", "torch").reply is Reply.PAGE
        seen = look(f"http://127.0.0.1:{port}", "ipex", "xla")
    assert (seen.reply, seen.project) == (Reply.NO_PROJECT, "ipex")


def test_an_index_in_a_directory(tmp_path):
    assert look(tmp_path.as_uri()).reply is Reply.PAGE
    assert look((tmp_path / "gone").as_uri()).reply is Reply.DIRECTORY


# Judgements.


def judged(reply, *, default=False, **changes):
    values = {"name": "house", "url": "https://house/simple", "project": "torch", "reply": reply, **changes}
    (found,) = judge_index(IndexSeen(**values), default=default)
    assert found.id == "index.house"
    assert not found.stops
    return found


def test_an_index_that_is_well():
    assert judged(Reply.PAGE).level is Level.OK
    found = judged(Reply.NO_PROJECT)
    assert (found.level, "torch" in found.summary) == (Level.NOTE, True)


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("reply", [one for one in Reply if one not in (Reply.PAGE, Reply.NO_PROJECT)])
def test_every_failure_says_what_to_do(reply, default):
    found = judged(reply, default=default, status=500)
    assert (found.level, bool(found.hint)) == (Level.PROBLEM, True)


def test_failures_are_told_apart():
    said = {judged(reply, status=500).summary for reply in Reply}
    assert len(said) == len(Reply)


@pytest.mark.parametrize(("status", "word"), [(401, "netrc"), (407, "proxy"), (500, "later"), (599, "later")])
def test_a_status(status, word):
    found = judged(Reply.STATUS, status=status)
    assert str(status) in found.summary
    assert word in found.hint


def test_no_answer_at_all_and_a_bundle():
    assert late_index("house", "https://house", default=False).level is Level.PROBLEM
    (found,) = judge_bundle()
    assert found.level is Level.OK
