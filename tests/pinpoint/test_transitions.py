from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model import Kind, Outcome, Point, State, Transition, Verdict
from orchestrator.pinpoint import state, transitions
from orchestrator.versions import Version

if TYPE_CHECKING:
    import random

OUTCOMES = {
    "g": (Outcome.PASS, Verdict.GOOD),
    "b": (Outcome.FAIL, Verdict.BAD),
    "a": (Outcome.ABSENT, Verdict.UNKNOWN),
    "?": (Outcome.INFRA, Verdict.UNKNOWN),
}


def point(version: str | Version, letter: str) -> Point:
    outcome, verdict = OUTCOMES[letter]
    return Point(version=Version(str(version)), cell=f"cell-{version}", outcome=outcome, verdict=verdict)


def line(letters: str) -> tuple[Point, ...]:
    """Points of versions 1, 2, 3, … with one letter each."""
    return tuple(point(str(number), letter) for number, letter in enumerate(letters, start=1))


def told(letters: str) -> list[str]:
    """Return transitions as short text: "introduced None..3 [1, 2]"."""
    return [
        f"{t.kind} {t.after}..{t.version}" + (f" {[int(str(v)) for v in t.untested]}" if t.untested else "")
        for t in transitions(line(letters))
    ]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("", []),
        ("???", []),
        ("ggg", []),
        ("?g?", []),
        ("b", ["introduced None..1"]),
        ("bbg", ["introduced None..1", "fixed 2..3"]),
        ("ggb", ["introduced 2..3"]),
        ("g??b", ["introduced 1..4 [2, 3]"]),
        ("gab", ["introduced 1..3 [2]"]),
        ("g?gb", ["introduced 3..4"]),
        ("gb?bg", ["introduced 1..2", "fixed 4..5"]),
        ("gbgb", ["introduced 1..2", "fixed 2..3", "introduced 3..4"]),
        ("??b", ["introduced None..3 [1, 2]"]),
        ("a?b", ["introduced None..3 [2]"]),
        ("aab", ["introduced None..3"]),
    ],
)
def test_where_the_state_changes(letters: str, expected: list[str]) -> None:
    assert told(letters) == expected


def test_since_the_api_means_that_every_earlier_version_lacks_it() -> None:
    histories = ("aab", "b", "a?b", "?b", "gab")
    assert [h for h in histories if transitions(line(h))[0].since_api] == ["aab"]


def test_a_removal_that_an_issue_calls_bad_is_a_verdict() -> None:
    gone = Point(version=Version("2"), cell="c", outcome=Outcome.ABSENT, verdict=Verdict.BAD)
    (introduced,) = transitions([*line("g"), gone])
    assert (introduced.after, introduced.version) == (Version("1"), Version("2"))


def test_versions_are_ordered_by_pep_440_with_local_labels() -> None:
    versions = ["2.10.0", "2.9.1+xpu", "2.9.1", "2.9.0.post1", "2.9.0", "2.11.0.dev1"]
    letters = {"2.9.0": "g", "2.9.0.post1": "g", "2.9.1": "b", "2.9.1+xpu": "g", "2.10.0": "g", "2.11.0.dev1": "b"}
    found = transitions([point(version, letters[version]) for version in versions])
    assert [(str(t.after), str(t.version)) for t in found] == [
        ("2.9.0.post1", "2.9.1"),
        ("2.9.1", "2.9.1+xpu"),
        ("2.10.0", "2.11.0.dev1"),
    ]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("", State.UNKNOWN),
        ("?a", State.UNKNOWN),
        ("bg", State.OK),
        ("gb", State.AFFECTED),
        ("gb?a", State.AFFECTED),
    ],
)
def test_the_state_is_read_at_the_newest_known_version(letters: str, expected: State) -> None:
    assert state(line(letters)) is expected


histories = st.text(alphabet="".join(OUTCOMES), max_size=24)


def replay(found: tuple[Transition, ...], version: Version) -> Verdict:
    """Return the verdict of a version by the transitions alone: the last one before it decides, good at first."""
    verdict = Verdict.GOOD
    for transition in found:
        if transition.version <= version:
            verdict = Verdict.BAD if transition.kind is Kind.INTRODUCED else Verdict.GOOD
    return verdict


@given(histories)
def test_replaying_the_transitions_gives_every_known_verdict(letters: str) -> None:
    points = line(letters)
    found = transitions(points)
    for one in points:
        if one.verdict is not Verdict.UNKNOWN:
            assert replay(found, one.version) is one.verdict


@given(histories)
def test_each_transition_is_a_change_between_two_known_versions(letters: str) -> None:
    points = {one.version: one for one in line(letters)}
    found = transitions(tuple(points.values()))
    assert [t.version for t in found] == sorted({t.version for t in found})
    for number, transition in enumerate(found):
        assert transition.kind is (Kind.INTRODUCED if number % 2 == 0 else Kind.FIXED)
        to = Verdict.BAD if transition.kind is Kind.INTRODUCED else Verdict.GOOD
        assert points[transition.version].verdict is to
        if transition.after is None:
            assert number == 0
            continue
        assert points[transition.after].verdict not in (to, Verdict.UNKNOWN)
        between = [v for v in points if transition.after < v < transition.version]
        assert list(transition.untested) == between
        assert all(points[version].verdict is Verdict.UNKNOWN for version in between)


@given(histories, st.randoms(use_true_random=False))
def test_the_order_in_which_points_come_does_not_matter(letters: str, shuffler: random.Random) -> None:
    points = list(line(letters))
    shuffled = points.copy()
    shuffler.shuffle(shuffled)
    assert transitions(shuffled) == transitions(points)
    assert state(shuffled) is state(points)


@given(histories, st.integers(min_value=0, max_value=24))
def test_an_unknown_version_more_changes_no_verdict(letters: str, position: int) -> None:
    more = letters[:position] + "?" + letters[position:]
    kinds = [t.kind for t in transitions(line(more))]
    assert kinds == [t.kind for t in transitions(line(letters))]
    assert state(line(more)) is state(line(letters))
