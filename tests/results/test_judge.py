"""An issue over its probes, and what an issue may say about what counts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from orchestrator.model import Issue, Judgement, Outcome, ProbeResult, Threshold, Verdict
from orchestrator.results import judge

A, B = "t.py::a", "t.py::b"


def issue(*probes: str, **said: Any) -> Issue:
    return Issue(id="i", title="t", link=None, probes=probes or (A,), subjects={}, **said)


def result(outcome: Outcome, probe: str = A, **fields: Any) -> ProbeResult:
    return ProbeResult(probe=probe, outcome=outcome, **fields)


def judged(about: Issue, *results: ProbeResult) -> Judgement:
    return judge(about, {one.probe: one for one in results})


def test_over_two_probes_bad_beats_unknown_and_unknown_beats_good() -> None:
    for first, second in itertools.product(Outcome, Outcome):
        verdicts = {first.verdict, second.verdict}
        expected = next(v for v in (Verdict.BAD, Verdict.UNKNOWN, Verdict.GOOD) if v in verdicts)
        judgement = judged(issue(A, B), result(first), result(second, B))
        assert judgement.verdict is expected
        assert judgement.outcome in (first, second)
        assert judgement.outcome.verdict is expected


def test_the_decisive_probe_gives_the_signature_and_all_give_metrics() -> None:
    judgement = judged(
        issue(A, B),
        result(Outcome.PASS, metrics={"a": 1.0}),
        result(Outcome.CRASH, B, signature="SIGSEGV", metrics={"b": 2.0}),
    )
    assert judgement == Judgement(
        outcome=Outcome.CRASH, verdict=Verdict.BAD, signature="SIGSEGV", metrics={"a": 1.0, "b": 2.0}
    )


def test_a_probe_without_a_result_was_not_run() -> None:
    assert judged(issue(A, B), result(Outcome.PASS)) == Judgement(outcome=Outcome.NOT_RUN, verdict=Verdict.UNKNOWN)


def test_the_most_telling_of_what_is_unknown() -> None:
    judgement = judged(issue(A, B), result(Outcome.NO_DEVICE), result(Outcome.ERROR, B, signature="why"))
    assert (judgement.outcome, judgement.signature) == (Outcome.ERROR, "why")


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.CRASH])
@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({"signature": "RuntimeError: not implemented for 'Half'"}, True),
        ({"signature": "RuntimeError: long", "message": "… not implemented for 'Half'"}, True),
        ({"signature": "KeyError: 'x'", "message": "KeyError"}, False),
        ({}, False),
    ],
)
def test_a_failure_must_show_what_the_issue_says(outcome: Outcome, fields: dict[str, str], counts: bool) -> None:  # noqa: FBT001 - a case
    judgement = judged(issue(shows="not implemented for 'Half'"), result(outcome, **fields))
    expected = (outcome, Verdict.BAD) if counts else (Outcome.ERROR, Verdict.UNKNOWN)
    assert (judgement.outcome, judgement.verdict) == expected
    assert judgement.signature == fields.get("signature")


def test_a_pass_needs_to_show_nothing() -> None:
    assert judged(issue(shows="x"), result(Outcome.PASS)).verdict is Verdict.GOOD


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL])
@pytest.mark.parametrize(
    ("metrics", "expected", "signature"),
    [
        ({"mae": 1.4759}, Outcome.FAIL, "mae = 1.4759"),
        ({"mae": 1e-4}, Outcome.PASS, None),
        ({"mae": 3.7e-06}, Outcome.PASS, None),
        ({"mae": math.nan}, Outcome.FAIL, "mae = nan"),
        ({"mae": math.inf}, Outcome.FAIL, "mae = inf"),
        ({"other": 0.0}, Outcome.ERROR, "no metric 'mae' was recorded"),
    ],
)
def test_a_threshold_decides(
    outcome: Outcome, metrics: dict[str, float], expected: Outcome, signature: str | None
) -> None:
    judgement = judged(
        issue(threshold=Threshold(metric="mae", above=1e-4)), result(outcome, signature="s", metrics=metrics)
    )
    assert (judgement.outcome, judgement.signature, judgement.verdict) == (expected, signature, expected.verdict)


def test_a_threshold_does_not_hide_a_crash() -> None:
    about = issue(threshold=Threshold(metric="mae", above=1e-4))
    assert judged(about, result(Outcome.CRASH)).verdict is Verdict.BAD


def test_an_issue_about_a_removal() -> None:
    assert judged(issue(absent_is_bad=True), result(Outcome.ABSENT)).verdict is Verdict.BAD
    assert judged(issue(), result(Outcome.ABSENT)).verdict is Verdict.UNKNOWN


def test_an_issue_may_not_count_timeouts() -> None:
    assert judged(issue(timeout_is_bad=False), result(Outcome.TIMEOUT)).verdict is Verdict.UNKNOWN
    assert judged(issue(), result(Outcome.TIMEOUT)).verdict is Verdict.BAD
