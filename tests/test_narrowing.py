"""What a person is told while a search goes on."""

from __future__ import annotations

import re

import pytest

from builders import axis, issue, matrix, stack
from orchestrator.matrix import expand
from orchestrator.model import Judgement, Outcome, Verdict
from orchestrator.narrowing import Narrowing
from orchestrator.pinpoint import Measured, lines
from orchestrator.pinpoint.prior import STEADY, Prior
from orchestrator.search.choose import Goal
from orchestrator.search.rows import Row
from workbench import Listener

B, G = Verdict.BAD, Verdict.GOOD
NOT_RUN = Judgement(outcome=Outcome.NOT_RUN, verdict=Verdict.UNKNOWN)


class Told:
    """A search along ten releases of `lib`, told round by round."""

    def __init__(self, *issues, versions=10):
        names = [f"1.{minor}" for minor in range(versions)]
        made = matrix(stack("s", axis("lib", *names)), issues=tuple(issue(name, {"s": "lib"}) for name in issues))
        self.cells = [cell.id for cell in expand(made)]
        measured = [Measured(cell=cell, judgements=dict.fromkeys(issues, NOT_RUN)) for cell in expand(made)]
        self.lines = lines(made, measured)
        (line,) = self.lines
        self.row = Row.empty(line.issues, self.cells, Prior(noise=STEADY))
        self.listener = Listener()
        self.narrowing = Narrowing(self.listener, Goal())

    def see(self, minor, **verdicts):
        self.row = self.row.observed(self.cells[minor], verdicts)

    def tell(self, *following):
        """Return what is said, in parts, when so many cells follow: each by number, a warm one negative."""
        before = len(self.listener.phases)
        chosen = [(self.cells[abs(one)], one < 0) for one in following]
        self.narrowing.tell(self.lines, [self.row], chosen)
        return [part for phase in self.listener.phases[before:] for part in phase.split("; ")]


def test_before_anything_is_known_only_the_next_cells_are_told():
    told = Told("i").tell(4, -9)
    assert re.fullmatch(r"about \d+ runs left", told[0])
    assert told[1:] == ["next lib 1.4, lib 1.9 (warm)"]


def test_a_change_is_told_when_it_is_bracketed_and_again_as_it_gets_narrower():
    search = Told("i")
    search.see(0, i=G)
    assert not [part for part in search.tell() if "between" in part]
    search.see(9, i=B)
    assert search.tell(4)[0] == "i: introduced between lib 1.0 and 1.9"
    search.see(4, i=G)
    assert search.tell(7)[0] == "i: narrowed lib from 1.0 … 1.9 to 1.4 … 1.9"
    search.see(5, i=B)
    assert search.tell() == ["i: narrowed lib from 1.4 … 1.9 to 1.4 … 1.5"]


def test_where_the_number_of_changes_changes_all_are_told_anew():
    search = Told("i")
    search.see(0, i=B)
    search.see(9, i=G)
    assert search.tell() == ["i: fixed between lib 1.0 and 1.9"]
    search.see(4, i=G)
    search.see(6, i=B)
    assert search.tell() == [
        "i: fixed between lib 1.0 and 1.4",
        "i: introduced between lib 1.4 and 1.6",
        "i: fixed between lib 1.6 and 1.9",
    ]


def test_what_the_user_gives_bounds_a_change_too():
    search = Told("i")
    search.row = search.row.told(search.cells[2], G).told(search.cells[8], B)
    assert search.tell() == ["i: introduced between lib 1.2 and 1.8"]


def test_a_round_that_brought_nothing_and_is_the_last_is_silent():
    search = Told("i")
    search.see(0, i=G)
    search.see(9, i=B)
    search.tell()
    assert search.tell() == []
    assert len(search.listener.phases) == 1


@pytest.mark.parametrize(("count", "rest"), [(3, []), (4, ["1 more change"]), (6, ["3 more changes"])])
def test_no_more_than_three_changes_are_told_at_once(count, rest):
    names = [f"i{number}" for number in range(count)]
    search = Told(*names)
    search.see(0, **dict.fromkeys(names, G))
    search.see(9, **dict.fromkeys(names, B))
    told = search.tell()
    assert told[:3] == [f"i{number}: introduced between lib 1.0 and 1.9" for number in range(3)]
    assert told[3:] == rest


def test_what_is_left_shrinks_to_one_run():
    def left(search):
        (part,) = (part for part in search.tell(5) if part.startswith("about"))
        return int(part.split()[1])

    search = Told("i", versions=33)
    search.see(0, i=G)
    search.see(32, i=B)
    wide = left(search)
    search.see(16, i=B)
    search.see(8, i=G)
    narrow = left(search)
    assert wide > narrow >= 1
    for minor in range(1, 32):
        search.see(minor, i=B if minor > 8 else G)
    assert search.tell(3)[-2] == "about 1 run left"
