from __future__ import annotations

from dataclasses import replace

import pytest

import lettered
from orchestrator.model import Pin
from orchestrator.report.sides import differing, sides


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ggbb", [("last good", "2.0"), ("first bad", "3.0")]),
        ("bngg", [("last bad", "1.0"), ("first good", "3.0")]),
        ("gbgb", [("last good", "3.0"), ("first bad", "4.0")]),
        ("bbn", [("newest bad", "2.0")]),
        ("gga", [("newest good", "2.0")]),
        ("nd", []),
    ],
)
def test_sides(letters: str, expected: list[tuple[str, str]]) -> None:
    one = lettered.series(letters)
    found = sides(lettered.report(one), one)
    assert [(side.label, str(side.point.version)) for side in found] == expected
    assert all(side.pins and side.python == "3.11" for side in found)


def test_only_the_new_side_is_the_commit_of_a_change() -> None:
    one = lettered.series("gb")
    (change,) = one.transitions
    one = replace(one, transitions=(replace(change, commit="1a2b3c 2026-01-01 It"),))
    assert [side.commit for side in sides(lettered.report(one), one)] == [None, "1a2b3c 2026-01-01 It"]


def test_what_differs() -> None:
    one = lettered.series("gb")
    old, new = sides(lettered.report(one), one)
    more = (Pin(name="numpy", version="1"), Pin(name="same", version="1"))
    moved = differing(replace(old, pins=(*old.pins, *more)), replace(new, pins=(*new.pins, more[1])))
    assert moved == {"lib": ("1.0", "2.0"), "numpy": ("1", None)}
