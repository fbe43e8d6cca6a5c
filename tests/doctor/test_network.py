from __future__ import annotations

import os
from threading import Event

import pytest

from orchestrator.certificates import NAMED, ca_bundle
from orchestrator.doctor.finding import Level
from orchestrator.doctor.network import BundleSeen, judge_certificates, judge_engine_proxies, judge_proxies
from orchestrator.doctor.world import network as world_network

PROXY = "http://me:geheim@proxy:3128"


def judged(**variables):
    (found,) = judge_proxies(variables)
    assert found.id == "network.proxy"
    assert "geheim" not in f"{found.summary}{found.detail}{found.hint}"
    return found


def test_no_proxy():
    assert judged().level is Level.OK
    assert judged(HTTPS_PROXY="").level is Level.OK


@pytest.mark.parametrize(
    "variables",
    [
        {"HTTPS_PROXY": PROXY, "no_proxy": "localhost,.corp"},
        {"https_proxy": PROXY, "HTTPS_PROXY": PROXY},
        {"ALL_PROXY": "socks5://proxy:1080", "HTTP_PROXY": PROXY},
        {"HTTPS_PROXY": "me:geheim@proxy:3128"},
    ],
)
def test_proxies_that_are_well(variables):
    assert judged(**variables).level is Level.OK


@pytest.mark.parametrize("value", ["http://", "http://me:geheim@", "http://me:geheim@:3128", "http://proxy:port"])
def test_a_value_that_is_no_address(value):
    assert judged(HTTPS_PROXY=value).level is Level.PROBLEM


def test_two_that_differ():
    found = judged(https_proxy=PROXY, HTTPS_PROXY="http://other:3128")
    assert (found.level, "unset HTTPS_PROXY" in found.hint) == (Level.PROBLEM, True)


def test_a_proxy_for_plain_http_only():
    assert judged(http_proxy=PROXY).level is Level.NOTE


def test_the_proxies_of_the_engine():
    (found,) = judge_engine_proxies({}, {"HttpsProxy": PROXY, "NoProxy": "a@b"})
    assert found.level is Level.OK
    assert found.summary.endswith("HttpsProxy=http://***@proxy:3128, NoProxy=a@b")
    (found,) = judge_engine_proxies({"HTTPS_PROXY": PROXY}, {})
    assert (found.level, "geheim" in found.summary) == (Level.NOTE, False)
    assert list(judge_engine_proxies({"no_proxy": "x"}, {})) == []


@pytest.fixture
def variables(monkeypatch):
    for name in NAMED:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def certificates():
    return {one.id: one for one in judge_certificates(world_network.look_at_certificates(Event()))}


def test_the_bundle_of_this_host(variables):
    assert certificates()["network.certificates"].level is Level.OK


def test_a_bundle_that_is_named(variables):
    variables.setenv("SSL_CERT_FILE", str(ca_bundle()))
    found = certificates()["network.certificates"]
    assert (found.level, "SSL_CERT_FILE" in found.summary) == (Level.OK, True)


@pytest.mark.parametrize(
    "text", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_bundle_without_certificates(variables, tmp_path, text):
    (tmp_path / "ca.pem").write_text(text)
    variables.setenv("ORCHESTRATOR_CA_BUNDLE", str(tmp_path / "ca.pem"))
    found = certificates()["network.certificates"]
    assert (found.level, "ORCHESTRATOR_CA_BUNDLE" in found.summary) == (Level.PROBLEM, True)


def test_a_bundle_that_is_not_there(variables, tmp_path):
    variables.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    found = certificates()
    assert found["network.certificates.REQUESTS_CA_BUNDLE"].level is Level.PROBLEM
    assert found["network.certificates"].level is Level.OK


def test_a_bundle_that_this_user_may_not_read(variables, tmp_path):
    path = tmp_path / "ca.pem"
    path.write_bytes(ca_bundle().read_bytes())
    path.chmod(0)
    variables.setenv("ORCHESTRATOR_CA_BUNDLE", str(path))
    root = os.geteuid() == 0
    if root:
        for parent in tmp_path.relative_to(tmp_path.parents[2]).parents:
            (tmp_path.parents[2] / parent).chmod(0o755)
        tmp_path.chmod(0o755)
        os.seteuid(65534)
    try:
        found = certificates()["network.certificates"]
    finally:
        if root:
            os.seteuid(0)
    assert (found.level, "ermission denied" in found.summary) == (Level.PROBLEM, True)


def test_a_host_without_certificates():
    (found,) = judge_certificates(BundleSeen(path=None))
    assert (found.level, "ca-certificates" in found.hint) == (Level.PROBLEM, True)


def test_the_variables_that_are_read(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("ALL_PROXY", PROXY)
    assert world_network.proxies() == {"ALL_PROXY": PROXY}
