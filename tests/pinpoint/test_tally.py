"""Runs counted, and the changes that they show by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.model import Judgement, Outcome
from orchestrator.pinpoint import Measured
from orchestrator.pinpoint.tally import changes, tallies

if TYPE_CHECKING:
    from collections.abc import Callable

OUTCOMES = {"g": Outcome.PASS, "b": Outcome.FAIL, "n": Outcome.NOT_RUN, "e": Outcome.ERROR}


@pytest.mark.parametrize(
    ("letters", "tally"),
    [
        ("", (0, 0, True)),
        ("g", (0, 1, True)),
        ("b", (1, 0, True)),
        ("n", (0, 0, True)),
        ("e", (0, 0, False)),
        ("ge", (0, 1, True)),
        ("en", (0, 0, True)),
        ("ne", (0, 0, False)),
        ("gbb", (2, 1, True)),
    ],
)
def test_runs_are_counted(measured: Callable[..., Measured], letters: str, tally: tuple[int, int, bool]) -> None:
    judged = tuple(Judgement(outcome=OUTCOMES[one], verdict=OUTCOMES[one].verdict) for one in letters)
    cell = measured("", {"lib": "1"}).cell
    assert tallies("i", [Measured(cell=cell, runs={"i": judged})]) == (tally,)
    if len(judged) < 2:
        assert tallies("i", [Measured(cell=cell, judgements={"i": judged[0]} if judged else {})]) == (tally,)


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("", []),
        ("?gg?", []),
        ("?b", [(None, 1, True)]),
        ("gb", [(0, 1, True)]),
        ("g??b?g", [(0, 3, True), (3, 5, False)]),
        ("bg", [(None, 0, True), (0, 1, False)]),
        ("gFg", []),
        ("gTg", [(0, 1, True), (1, 2, False)]),
    ],
)
def test_changes_follow_the_runs_and_where_those_disagree_what_is_believed(
    letters: str, expected: list[tuple[int | None, int, bool]]
) -> None:
    runs = {"g": (0, 1, True), "b": (2, 0, True), "?": (0, 0, False), "T": (1, 1, True), "F": (1, 1, True)}
    believed = [letter == "T" for letter in letters]
    assert list(changes(tuple(runs[letter] for letter in letters), believed)) == expected
