"""Two runs of the same matrix: what is news, what is not, and what else was different."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import axis, issue, matrix, stack
from orchestrator.matrix import expand
from orchestrator.model import (
    Fingerprint,
    Judgement,
    News,
    Origin,
    Outcome,
    Provenance,
    Report,
    Shift,
    Verdict,
)
from orchestrator.pinpoint import Measured, answer, compare, with_news

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSIONS = tuple(f"1.{n}" for n in range(6))
JUDGED = {
    "g": Judgement(outcome=Outcome.PASS, verdict=Verdict.GOOD),
    "b": Judgement(outcome=Outcome.FAIL, verdict=Verdict.BAD, signature="ValueError: no"),
    "?": Judgement(outcome=Outcome.INFRA, verdict=Verdict.UNKNOWN),
}


def origin(**changes: object) -> Origin:
    on = Fingerprint(
        device="GPU",
        driver="i915",
        system="Linux 6.1",
        firmware="gfx 1",
        runtime={"libze1": "1.20", "libigc2": "2.1"},
    )
    started = datetime(2026, 1, 1, tzinfo=UTC)
    made = Origin(attempt="a", runtime="docker", base="b1", started=started, duration=1.0, fingerprint=on)
    own = ("device", "driver", "system", "firmware")
    fingerprint = {name: changes.pop(name) for name in own if name in changes}
    if (libraries := changes.pop("libraries", None)) is not None:
        fingerprint["runtime"] = libraries
    return replace(made, fingerprint=replace(on, **fingerprint), **changes)  # type: ignore[arg-type] # of mixed types


def told(letters: str, versions: Sequence[str] = VERSIONS, origin: Origin | None = None, **more: object) -> Report:
    """Return the report of a run that came to one letter of JUDGED per version."""
    made = matrix(stack("s", axis("lib", *versions[: len(letters)])), issues=(issue("i", {"s": "lib"}, **more),))
    measured = [
        Measured(cell=cell, judgements={"i": JUDGED[letter]}, origin=origin)
        for cell, letter in zip(expand(made), letters, strict=True)
    ]
    return answer(made, measured, Provenance(tool="t", matrix="m"))


def news(old: Report, new: Report) -> list[tuple[News, tuple[str, ...]]]:
    return [(one.kind, tuple(map(str, one.versions))) for one in compare(old, new).differences]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("ggg", "ggg", []),
        ("ggb", "ggb", []),
        ("ggg", "gbb", [(News.AFFECTED, ("1.1", "1.2"))]),
        ("bbb", "bbg", [(News.FIXED, ("1.2",))]),
        ("gbg", "bgg", [(News.AFFECTED, ("1.0",)), (News.FIXED, ("1.1",))]),
        ("ggg", "g?g", [(News.INCOMPARABLE, ("1.1",))]),
        ("bbb", "?b?", [(News.INCOMPARABLE, ("1.0", "1.2"))]),
        # A version that was not there is news where the state changes.
        ("gg", "ggb", [(News.AFFECTED, ("1.2",))]),
        ("gg", "ggbb", [(News.AFFECTED, ("1.2",))]),
        ("bb", "bbg", [(News.FIXED, ("1.2",))]),
        ("gg", "ggg", []),
        ("bb", "bbb", []),
        ("g?", "gb", [(News.AFFECTED, ("1.1",))]),
        # Affected from the beginning says nothing of a change.
        ("??", "bb", []),
        # A change that was known, and is only found more closely now.
        ("b??g", "bbgg", []),
        ("g??b", "gbbb", []),
        ("b??g", "bgbg", [(News.AFFECTED, ("1.2",))]),
    ],
)
def test_what_is_news(old: str, new: str, expected: list[tuple[News, tuple[str, ...]]]) -> None:
    assert news(told(old), told(new)) == expected


@given(st.lists(st.sampled_from("gb"), min_size=1, max_size=6), st.data())
def test_a_version_that_both_know_is_news_exactly_where_its_verdict_turned(
    old: list[str], data: st.DataObject
) -> None:
    new = data.draw(st.lists(st.sampled_from("gb"), min_size=len(old), max_size=len(old)))
    different = news(told("".join(old)), told("".join(new)))
    found = {version: kind for kind, versions in different for version in versions}
    turned = {("g", "b"): News.AFFECTED, ("b", "g"): News.FIXED}
    pairs = zip(VERSIONS, old, new, strict=False)
    assert found == {version: turned[a, b] for version, a, b in pairs if a != b}


def test_the_worst_news_comes_first() -> None:
    kinds = [kind for kind, _ in news(told("gbgb"), told("?gbb"))]
    assert kinds == [News.AFFECTED, News.FIXED, News.INCOMPARABLE]


def test_what_came_before_and_after_is_told() -> None:
    (one,) = compare(told("gg"), told("gb")).differences
    assert (one.before, one.after, one.issue, one.stack, one.axis) == (Outcome.PASS, Outcome.FAIL, "i", "s", "lib")
    (new,) = compare(told("g"), told("gb")).differences
    assert new.before is None


def test_series_that_only_one_run_has_are_not_compared() -> None:
    other = told("gg")
    other = replace(other, series=tuple(replace(one, issue="other") for one in other.series))
    found = compare(told("gg"), other)
    assert (found.compared, found.differences) == (0, ())


@pytest.mark.parametrize(
    ("changes", "shift"),
    [
        ({"driver": "xe"}, ("driver", "i915", "xe")),
        ({"driver": None}, ("driver", "i915", None)),
        ({"device": "other"}, ("device", "GPU", "other")),
        ({"system": "Linux 6.8"}, ("system", "Linux 6.1", "Linux 6.8")),
        ({"base": "b2"}, ("base", "b1", "b2")),
        ({"runtime": "venv"}, ("runtime", "docker", "venv")),
        ({"firmware": "gfx 2"}, ("firmware", "gfx 1", "gfx 2")),
        (
            {"libraries": {"libze1": "1.21", "libigc2": "2.1", "level-zero": "1.9"}},
            ("user-space", "libze1 1.20", "level-zero 1.9, libze1 1.21"),
        ),
    ],
)
def test_what_cells_were_measured_on_is_told_where_it_changed(
    changes: dict[str, object], shift: tuple[str, str | None, str | None]
) -> None:
    found = compare(told("gg", origin=origin()), told("gb", origin=origin(**changes)))
    what, before, after = shift
    assert found.shifts == (Shift(what=what, before=before, after=after, cells=2),)
    assert found.differences[0].besides == (what,)


def test_nothing_is_said_where_it_is_not_known_or_the_same() -> None:
    assert compare(told("gg", origin=origin()), told("gb", origin=origin(attempt="b"))).shifts == ()
    assert compare(told("gg"), told("gb", origin=origin())).shifts == ()
    for changes in ({"firmware": None}, {"libraries": {}}):
        assert compare(told("gg", origin=origin(**changes)), told("gb", origin=origin())).shifts == ()
    bare = replace(origin(), fingerprint=None)
    assert compare(told("gg", origin=bare), told("gb", origin=origin())).shifts == ()


def test_another_lock_of_the_same_cell_is_told() -> None:
    old, new = told("gg"), told("gb")
    old = replace(old, cells=tuple(replace(row, lock="one") for row in old.cells))
    new = replace(new, cells=tuple(replace(row, lock="two") for row in new.cells))
    found = compare(old, new)
    assert found.shifts == (Shift(what="lock", before=None, after=None, cells=2),)
    assert found.differences[0].besides == ("lock",)


def test_a_finding_is_new_only_once() -> None:
    first = with_news(told("gb"), None)
    assert [one.new for one in first.findings] == [True]
    assert first.since is None
    again = with_news(told("gbb"), first)
    assert [one.new for one in again.findings] == [False]
    assert again.since is not None
    healed = with_news(told("gbg"), again)
    back = with_news(told("gbgb"), healed)
    assert [one.new for one in back.findings] == [True]


def test_a_run_of_something_else_is_no_run_before() -> None:
    other = replace(told("gb"), series=())
    found = with_news(told("gb"), other)
    assert found.since is None
    assert [one.new for one in found.findings] == [True]
