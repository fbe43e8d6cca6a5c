from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model import Outcome, Point, State, Verdict
from orchestrator.report.clean import clean, clean_line, cleaned, shorten
from orchestrator.versions import Version


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    rows: tuple[Point, ...]


def point(**fields: Any) -> Point:
    return Point(version=Version("1"), outcome=Outcome.FAIL, verdict=Verdict.BAD, **fields)


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


def test_of_rows_that_are_alike_only_the_unclean_are_made_anew() -> None:
    clean = [point(cell="c"), point(cell="c", signature="s", attempt="a"), point(cell="c", metrics={"mae": 1.0})]
    unclean = [point(cell="c\x07"), point(cell="c", metrics={"mae\x07": 1.0}), point(cell="c", log=("\x07l",))]
    rows = (clean[0], unclean[0], clean[1], unclean[1], clean[2], unclean[2], clean[0])
    found = cleaned(Rows(rows=rows)).rows
    expected = [point(cell="c"), point(cell="c", metrics={"mae": 1.0}), point(cell="c", log=("l",))]
    assert list(found[1::2]) == expected
    assert all(one is was for one, was in zip(found[::2], rows[::2], strict=True))
    assert cleaned(rows[::2])[1] is rows[2]


def test_rows_of_several_kinds_are_cleaned() -> None:
    rows = (point(cell="c\x07"), Nest(name="n\x07", state=State.OK), "t\x07", None, 1)
    assert cleaned(rows) == (point(cell="c"), Nest(name="n", state=State.OK), "t", None, 1)


def test_shorten() -> None:
    assert shorten("12345", 5) == "12345"
    assert shorten("123456", 5) == "1234…"
    assert shorten("123 567", 5) == "123…"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    indented\tand   apart  ", "    indented    and   apart"),
        ("\x1b[31m  red\x1b[0m \u202eturned", "  red turned"),
        ("##[error]no", "# #[error]no"),
        ("a\rb", "a b"),
    ],
)
def test_a_line_of_a_log_keeps_its_columns(line: str, expected: str) -> None:
    assert clean_line(line) == expected
    assert cleaned(point(cell="c", log=(line,))).log == (expected,)
