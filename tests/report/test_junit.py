from __future__ import annotations

from dataclasses import replace

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from junitparser.xunit2 import TestCase
from msgspec import structs

import lettered
from markup import xml
from orchestrator.model import Report, Surprise, Verdict
from orchestrator.report import junit, render

HOSTILE = "]]>&\"'<x>\ufffe\uffff \x1b[31m\x00 a\u202eb"


def cases(report: Report) -> dict[str, TestCase]:
    """Return the cases of a report by name, read by a library that did not write them."""
    suites = JUnitXml.fromstring(junit.render(report).encode())
    return {case.name: case for suite in suites for case in suite.iterchildren(TestCase)}


def kinds(case: TestCase) -> list[type]:
    return [type(one) for one in case.result]


def test_counts_agree_with_the_cases(report: Report) -> None:
    suites = JUnitXml.fromstring(render(report, "junit").encode())
    assert {suite.name for suite in suites} == {one.stack for one in report.series}
    for suite in suites:
        found = list(suite.iterchildren(TestCase))
        results = [one for case in found for one in case.result]
        assert suite.tests == len(found) == sum(len(s.points) for s in report.series if s.stack == suite.name)
        assert suite.failures == sum(isinstance(one, Failure) for one in results)
        assert suite.errors == sum(isinstance(one, Error) for one in results)
        assert suite.skipped == sum(isinstance(one, Skipped) for one in results)
        assert suite.time == pytest.approx(sum(case.time or 0 for case in found))
        assert len({(case.classname, case.name) for case in found}) == len(found)
    for name in ("tests", "failures", "errors", "skipped", "time"):
        assert getattr(suites, name) == pytest.approx(sum(getattr(suite, name) for suite in suites))


def test_a_case_fails_only_where_the_newest_known_version_is_a_finding() -> None:
    one = lettered.series("gbgbb?".replace("?", "a"))
    found = cases(lettered.report(one, findings=(lettered.finding(one),)))
    assert [name for name, case in found.items() if kinds(case) == [Failure]] == ["lib 5.0"]
    (failure,) = found["lib 5.0"].result
    assert failure.type == "regression"
    assert failure.message == "regression: i is affected in s at lib 5.0, and was ok before"
    assert failure.text == "It: broke"
    assert "affected, which is known or expected" in found["lib 2.0"].system_out
    assert {name for name, case in found.items() if not case.result} == {f"lib {n}.0" for n in range(1, 5)}


def test_what_is_affected_as_expected_is_not_red() -> None:
    found = cases(lettered.report(lettered.series("bbb")))
    assert not any(case.result for case in found.values())
    assert [p.value for p in found["lib 3.0"].properties() if p.name == "verdict"] == ["bad"]


def test_an_unexpected_fix_is_told_and_passes() -> None:
    one = lettered.series("bg")
    found = cases(lettered.report(one, findings=(lettered.finding(one, Surprise.FIXED),)))
    assert not found["lib 2.0"].result
    assert found["lib 2.0"].system_out.startswith("news: i is ok")


@pytest.mark.parametrize(
    ("letter", "kind", "message"),
    [
        ("a", Skipped, "absent: why"),
        ("e", Skipped, "error: why"),
        ("d", Skipped, "no device: why"),
        ("n", Skipped, "not run: why"),
        ("f", Error, "build failed: why"),
        ("i", Error, "infra: why"),
    ],
)
def test_what_is_unknown_says_why(letter: str, kind: type, message: str) -> None:
    report = lettered.report(lettered.series(letter))
    cells = tuple(replace(row, reason="why", log=("last line",)) for row in report.cells)
    (result,) = cases(replace(report, cells=cells))["lib 1.0"].result
    assert (type(result), result.message, result.text) == (kind, message, "last line")


def test_time_is_that_of_the_probes_and_missing_where_none_ran() -> None:
    one = lettered.series("gn")
    points = (structs.replace(one.points[0], duration=1.25), one.points[1])
    found = cases(lettered.report(replace(one, points=points)))
    assert found["lib 1.0"].time == 1.25
    assert found["lib 2.0"].time is None


def test_series_that_differ_in_other_axes_have_cases_of_their_own() -> None:
    members = [lettered.series("g", fixed={"python": python}) for python in ("3.10", "3.11")]
    assert set(cases(lettered.report(*members))) == {"lib 1.0 (python 3.10)", "lib 1.0 (python 3.11)"}


def test_what_xml_cannot_hold_is_left_out_and_all_else_comes_back() -> None:
    one = lettered.series("b")
    point = structs.replace(
        one.points[0], signature=HOSTILE, log=("::error::no", "  ::warning::no", "##[error]no")
    )
    report = lettered.report(replace(one, points=(point,)), findings=(lettered.finding(one),))
    (result,) = cases(report)["lib 1.0"].result
    expected = HOSTILE.translate(dict.fromkeys((0xFFFE, 0xFFFF, 0x1B, 0)))
    assert result.text == f"{expected}\n::error::no\n  ::warning::no\n##[error]no"
    # And through the front door, which cleans as well.
    rendered = render(report, "junit")
    assert not [line for line in rendered.splitlines() if line.lstrip().startswith("::") or "##[" in line]
    (shown,) = (node for node in xml(rendered).iter("failure") if node.text)
    assert "::error::no" in shown.text.splitlines()


def test_no_good_verdict_is_anything_but_a_pass(report: Report) -> None:
    good = sum(p.verdict is Verdict.GOOD for one in report.series for p in one.points)
    bad = sum(p.verdict is Verdict.BAD for one in report.series for p in one.points)
    suites = xml(render(report, "junit"))
    passed = [
        case for case in suites.iter("testcase") if not {"failure", "error", "skipped"} & {n.tag for n in case}
    ]
    assert len(passed) == good + bad - len(report.findings)
