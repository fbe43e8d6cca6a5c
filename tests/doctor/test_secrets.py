from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.doctor.finding import Finding, Level
from orchestrator.doctor.secrets import Secrets, hide


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://proxy:3128", "http://proxy:3128"),
        ("http://me:pass@proxy:3128", "http://***@proxy:3128"),
        ("http://me:p@ss@proxy:3128", "http://***@proxy:3128"),
        ("http://me:pa/ss@proxy:3128", "http://***@proxy:3128"),
        ("http://me:pa://ss@proxy:3128", "http://***@proxy:3128"),
        ("me:pass@proxy:3128", "***@proxy:3128"),
        ("https://token@index/simple/", "https://***@index/simple/"),
        ("", ""),
    ],
)
def test_credentials_of_an_address(url, shown):
    assert hide(url) == shown


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=4))
def test_no_password_is_told(password):
    shown = "http://***@proxy:3128"
    for written in (password, quote(password, safe="")):
        assert hide(f"http://someone:{written}@proxy:3128") == shown
        said = Secrets([f"http://someone:{written}@proxy:3128"]).scrub(f"cannot log in as someone:{written} there")
        assert said == "cannot log in as *** there"


def test_a_password_is_hidden_also_where_it_stands_alone_and_decoded():
    secrets = Secrets(["http://me:s%40cret!@proxy", "https://longtoken@index"])
    found = Finding(
        id="a", level=Level.NOTE, summary="login me:s%40cret! failed", detail="s@cret! is wrong", hint="longtoken?"
    )
    shown = secrets.scrubbed(found)
    assert (shown.summary, shown.detail, shown.hint) == ("login *** failed", "*** is wrong", "***?")


def test_addresses_that_nobody_told_us_of():
    assert Secrets([]).scrub("at https://a:b@c/d and ssh://e@f") == "at https://***@c/d and ssh://***@f"
    assert Secrets(["http://a:b@c"]).scrub("an abacus") == "an abacus"  # too short to be looked for
