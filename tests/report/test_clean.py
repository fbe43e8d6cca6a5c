from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model import State
from orchestrator.report.clean import clean, cleaned, shorten


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, ünïcode ✗ 漢", "plain, ünïcode ✗ 漢"),
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x9b2Jgone", "gone"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("\x1bcreset", "reset"),
        ("cut \x1b", "cut"),
        ("unended \x1b]0;title", "unended 0;title"),
        ("two\nlines\r\n\tand\x0b more\u2028still", "two lines and more still"),
        ("a\u202eb\u2066c\u200dd\ufeffe\u00adf", "abcdef"),
        ("bell\x07 nul\x00 del\x7f", "bell nul del"),
        ("\ud800 alone", "\N{REPLACEMENT CHARACTER} alone"),
        ("##[error]made up", "# #[error]made up"),
        ("  blanks   too  ", "blanks too"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


@given(st.text(alphabet=st.characters() | st.sampled_from("\x1b\x9b\x9d[]0;m\x07\\\n\u202e#")))
def test_clean_text_prints_as_one_line_and_stays_as_it_is(text: str) -> None:
    once = clean(text)
    assert once == clean(once)
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in once)
    once.encode()
    assert len(once.splitlines()) <= 1
    assert "##[" not in once


@dataclass(frozen=True, slots=True, kw_only=True)
class Nest:
    name: str
    state: State
    inner: tuple[Nest, ...] = ()
    words: dict[str, str | None] | None = None


def test_cleaned_reaches_every_text() -> None:
    nest = Nest(
        name="a\x07",
        state=State.OK,
        inner=(Nest(name="b\x07", state=State.OK, words={"k\x07": "v\x07", "n": None}),),
    )
    expected = Nest(name="a", state=State.OK, inner=(Nest(name="b", state=State.OK, words={"k": "v", "n": None}),))
    assert cleaned(nest) == expected
    assert cleaned(nest).state is State.OK


def test_what_is_clean_stays_the_same_object() -> None:
    inner = Nest(name="b", state=State.OK, words={"k": "v", "n": None})
    nest = Nest(name="a\x07", state=State.OK, inner=(inner, inner))
    assert cleaned(inner) is inner
    assert all(one is inner for one in cleaned(nest).inner)


def test_shorten() -> None:
    assert shorten("12345", 5) == "12345"
    assert shorten("123456", 5) == "1234…"
    assert shorten("123 567", 5) == "123…"
