from __future__ import annotations

import pytest

import lettered
from markup import xml
from orchestrator.model import Report, Surprise
from orchestrator.report import badge, render

SVG = "{http://www.w3.org/2000/svg}"
REGRESSED, OK, UNKNOWN = lettered.series("gb"), lettered.series("bg", issue="j"), lettered.series("dn", issue="k")


def contrast(colour: str) -> float:
    """Return the contrast with white, as WCAG defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


@pytest.mark.parametrize(
    ("report", "message", "colour"),
    [
        (lettered.report(REGRESSED, OK, findings=(lettered.finding(REGRESSED),)), "1 ok · 1 affected", badge.RED),
        (
            lettered.report(REGRESSED, findings=(lettered.finding(REGRESSED, Surprise.AFFECTED),)),
            "1 affected",
            badge.RED,
        ),
        (lettered.report(OK, findings=(lettered.finding(OK, Surprise.FIXED),)), "1 ok", badge.BLUE),
        (lettered.report(OK, REGRESSED), "1 ok · 1 affected", badge.GREEN),
        (lettered.report(OK, UNKNOWN), "1 ok · 1 unknown", badge.GREEN),
        (lettered.report(UNKNOWN), "nothing known", badge.GREY),
        (lettered.report(), "nothing known", badge.GREY),
    ],
)
def test_what_it_says_and_in_which_colour(report: Report, message: str, colour: str) -> None:
    assert (badge.message(report), badge.colour(report)) == (message, colour)
    root = xml(badge.render(report))
    assert [node.text for node in root.iter(f"{SVG}text")] == ["matrix", message]
    assert [node.get("fill") for node in root.findall(f"{SVG}g/{SVG}rect")][1] == colour


def test_an_issue_is_affected_if_it_is_anywhere() -> None:
    members = [lettered.series(letters, stack=letters) for letters in ("bg", "gb", "dd")]
    assert badge.message(lettered.report(*members)) == "1 affected"


def test_it_has_a_name_for_who_does_not_see_it(report: Report) -> None:
    root = xml(render(report, "badge"))
    title = root.find(f"{SVG}title")
    assert title is not None
    assert root.get("role") == "img"
    assert root.get("aria-label") == title.text == "matrix: 5 ok · 2 affected"


def test_halves_are_as_wide_as_their_texts(report: Report) -> None:
    root = xml(render(report, "badge"))
    left, right = root.findall(f"{SVG}g/{SVG}rect")
    texts = list(root.iter(f"{SVG}text"))
    for half, text in zip((left, right), texts, strict=True):
        assert int(half.get("width", "")) == int(text.get("textLength", "")) + 12
    assert int(root.get("width", "")) == int(left.get("width", "")) + int(right.get("width", ""))


@pytest.mark.parametrize("colour", [badge.RED, badge.BLUE, badge.GREEN, badge.GREY])
def test_white_text_can_be_read(colour: str) -> None:
    assert contrast(colour) >= 4.5
