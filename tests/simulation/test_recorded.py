from __future__ import annotations

import pytest

from orchestrator.errors import ConfigError
from orchestrator.simulation import worlds

OUTCOMES = {"g": "pass", "b": "fail", "c": "crash", "?": "unresolvable", "a": "absent"}


def result(issue, letters, stack="s", fixed=None, versions=("1.9", "1.10", "2.0", "2.1")):
    cells = {
        version: {"outcome": OUTCOMES[letter], "signature": None, "cell": f"{stack}-{version}"}
        for version, letter in zip(versions, letters, strict=False)
    }
    return {"issue": issue, "stack": stack, "axis": "lib", "fixed": fixed or {}, "cells": cells}


def report(*results, **other):
    return {"format": 1, "results": list(results), **other}


def test_outcomes_are_the_truth_and_unknown_ones_untestable():
    (world,) = worlds(report(result("i", "gcb?"), result("j", "ggab")), false_fail=0.1, false_pass=0.2)
    assert world.bad.tolist() == [[False, True, True, False], [False, False, False, True]]
    assert world.testable.tolist() == [[True, True, True, False], [True, True, False, True]]
    assert (world.false_fail, world.false_pass) == (0.1, 0.2)
    assert world.steps.sum() == pytest.approx(1)


def test_versions_are_ordered_as_versions():
    (world,) = worlds(report(result("i", "bbgg", versions=("2.0", "2.1", "1.9", "1.10"))))
    assert world.bad.tolist() == [[False, False, True, True]]


def test_other_cells_are_another_world():
    found = worlds(report(result("i", "gb"), result("i", "gb", fixed={"python": "3.11"}), result("i", "gb", "t")))
    assert len(found) == 3


def test_what_cannot_be_searched_is_left_out():
    (world,) = worlds(report(result("i", "g"), result("j", "????", "t"), result("k", "gb", "u")))
    assert world.bad.shape == (1, 2)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "no JSON report of format 1"),
        ({"format": 2, "results": []}, "no JSON report of format 1"),
        ({"format": 1, "results": [{"issue": "i"}]}, "cannot be read"),
        ({"format": 1, "results": [result("i", "gb", versions=("nightly", "1.0"))]}, "cannot be read"),
        ({"format": 1, "results": []}, "nothing to search"),
        (report(result("i", "g")), "nothing to search"),
    ],
)
def test_what_is_no_report_is_refused(document, words):
    with pytest.raises(ConfigError, match=words):
        worlds(document)
