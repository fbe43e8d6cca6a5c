from __future__ import annotations

import pytest

from orchestrator.model import Kind, Outcome, Point, Series, Transition, Verdict
from orchestrator.pinpoint import collapse, state, transitions
from orchestrator.report import words
from orchestrator.versions import Version

POINTS = {
    "g": (Outcome.PASS, Verdict.GOOD),
    "b": (Outcome.FAIL, Verdict.BAD),
    "a": (Outcome.ABSENT, Verdict.UNKNOWN),
    "?": (Outcome.INFRA, Verdict.UNKNOWN),
    "d": (Outcome.NO_DEVICE, Verdict.UNKNOWN),
}


def series(letters: str, **fixed: str) -> Series:
    points = tuple(
        Point(
            version=Version(f"{number}.0"), cell=str(number), outcome=POINTS[letter][0], verdict=POINTS[letter][1]
        )
        for number, letter in enumerate(letters, start=1)
    )
    return Series(
        issue="i",
        stack="s",
        axis="lib",
        fixed=fixed,
        points=points,
        transitions=transitions(points),
        state=state(points),
    )


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("gg", [("never seen", "\N{EN DASH}")]),
        ("??", [("\N{EN DASH}", "\N{EN DASH}")]),
        ("bg", [("≤ 1.0", "2.0 (after 1.0)")]),
        ("aabb", [("3.0 (since the API appeared)", "never")]),
        ("?b", [("≤ 2.0 (the earliest version known; 1.0 untested)", "never")]),
        ("gb", [("2.0 (after 1.0)", "never")]),
        ("g?b", [("in (1.0, 3.0] (2.0 untested)", "never")]),
        (
            "b?????g",
            [("≤ 1.0", "in (1.0, 7.0] (2.0, 3.0, 4.0 and 2 more untested)")],
        ),
        ("gbgb", [("2.0 (after 1.0)", "3.0 (after 2.0)"), ("4.0 (after 3.0)", "not fixed")]),
    ],
)
def test_episodes(letters: str, expected: list[tuple[str, str]]) -> None:
    assert [(e.introduced, e.fixed) for e in words.episodes(series(letters))] == expected


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("g", "✓ ok"),
        ("gb", "✗ affected"),
        ("gb?", "✗ affected at 2.0"),
        ("dd", "? unknown (no device)"),
        ("d?", "? unknown"),
    ],
)
def test_now(letters: str, expected: str) -> None:
    assert words.now(series(letters)) == expected


@pytest.mark.parametrize(
    ("outcome", "verdict", "expected"),
    [
        (Outcome.PASS, Verdict.GOOD, "✓"),
        (Outcome.FAIL, Verdict.BAD, "✗"),
        (Outcome.PASS, Verdict.BAD, "✗"),
        (Outcome.ABSENT, Verdict.BAD, "✗"),
        (Outcome.CRASH, Verdict.BAD, "⚡"),
        (Outcome.TIMEOUT, Verdict.BAD, "⏱"),
        (Outcome.TIMEOUT, Verdict.UNKNOWN, "⏱"),
        (Outcome.ABSENT, Verdict.UNKNOWN, "\N{EN DASH}"),
        (Outcome.ERROR, Verdict.UNKNOWN, "!"),
        (Outcome.INCOMPATIBLE, Verdict.UNKNOWN, "≠"),
        (Outcome.UNRESOLVABLE, Verdict.UNKNOWN, "∅"),
        (Outcome.BUILD_FAILED, Verdict.UNKNOWN, "⚒"),
        (Outcome.NO_DEVICE, Verdict.UNKNOWN, "○"),
        (Outcome.INFRA, Verdict.UNKNOWN, "?"),
        (Outcome.NOT_RUN, Verdict.UNKNOWN, "·"),
    ],
)
def test_glyph(outcome: Outcome, verdict: Verdict, expected: str) -> None:
    assert words.glyph(Point(version=Version("1"), cell="c", outcome=outcome, verdict=verdict)) == expected
    assert expected in words.LEGEND


def test_where_names_all_combinations_of_a_group() -> None:
    def where(*fixed: dict[str, str]) -> str:
        (group,) = collapse(series("gb", **one) for one in fixed)
        return words.where(group)

    assert where({}) == "s / lib"
    assert where({"python": "3.10"}) == "s / lib, python 3.10"
    assert where({"python": "3.10"}, {"python": "3.11"}) == "s / lib, python 3.10 and 3.11"
    product = [{"python": p, "other": o} for p in ("3.10", "3.11") for o in ("1", "2")]
    assert where(*product) == "s / lib, python 3.10 and 3.11, other 1 and 2"
    assert where(*product[:3]) == ("s / lib, python 3.10 other 1, python 3.10 other 2 and python 3.11 other 1")
    assert where(*({"python": f"3.{minor}"} for minor in range(10, 19))) == (
        "s / lib, python 3.10, 3.11, 3.12, 3.13, 3.14 and 4 more"
    )


@pytest.mark.parametrize(
    ("after", "untested", "expected"),
    [
        (None, (), "introduced ≤ 3 (since the earliest version tested)"),
        ("1", (), "introduced in 3 (after 1)"),
        ("1", ("2",), "introduced in (1, 3] (2 untested)"),
    ],
)
def test_change(after: str | None, untested: tuple[str, ...], expected: str) -> None:
    transition = Transition(
        kind=Kind.INTRODUCED,
        after=Version(after) if after else None,
        version=Version("3"),
        untested=tuple(map(Version, untested)),
    )
    assert words.change(transition) == expected
