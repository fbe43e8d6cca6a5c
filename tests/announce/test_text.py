"""What is written on GitHub, with harmless and with hostile texts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from msgspec import structs

import lettered
from orchestrator.announce import Thread, decide, marker, page
from orchestrator.announce.text import LIMIT
from orchestrator.model import Report, Topic

HOSTILE = "@me <!-- ``` </details> <script> | #1 \x1b[31m\u202e https://evil.example ##[error]no\n::error::x"


def affected(letters: str = "gb", **more) -> Report:
    one = lettered.series(letters, **more)
    return lettered.report(one, findings=(lettered.finding(one),))


def test_an_issue_has_all_that_an_upstream_tracker_gets() -> None:
    report = affected()
    (action,) = decide(report, [])
    written = page(report, action, {}, "https://github.com/o/r/actions/runs/1")
    assert written.title == "About i (s)"
    assert marker.read(written.body) == action.told
    assert written.comment == ""
    for part in (
        "- regression: i is affected in s at lib 2.0, and was ok before",
        "[GitHub Actions](https://github.com/o/r/actions/runs/1)",
        "## Versions",
        "orchestrator repro s-lib2.0 --issue i --run",
    ):
        assert part in written.body


def test_only_its_own_stack_is_told() -> None:
    both = [lettered.series("gb"), lettered.series("gb", stack="other")]
    report = lettered.report(*both, findings=tuple(map(lettered.finding, both)))
    first, _ = decide(report, [])
    assert first.told.stack == "other"
    written = page(report, first, {})
    assert "other" in written.body
    assert "Versions: s / lib" not in written.body


def test_news_are_a_comment_and_the_text_is_new() -> None:
    (action,) = decide(affected(), [])
    there = Thread(number=1, open=True, body="", told=action.told)
    report = affected("gbgb", versions=["1.0", "2.0", "3.0", "4.0"])
    report = replace(report, findings=tuple(replace(one, since=one.version) for one in report.findings))
    (update,) = decide(report, [there])
    written = page(report, update, {})
    assert written.comment.startswith("This has changed.\n\n- regression: i is affected in s at lib 4.0")
    assert marker.read(written.body) == update.told
    (back,) = decide(report, [replace(there, open=False)])
    assert page(report, back, {}).comment.startswith("It is back.")


def test_a_fix_leaves_the_text_and_changes_the_hidden_line() -> None:
    (action,) = decide(affected(), [])
    body = page(affected(), action, {}).body
    fixed = lettered.report(lettered.series("gg"))
    (closing,) = decide(fixed, [Thread(number=1, open=True, body=body, told=action.told)])
    written = page(fixed, closing, {})
    assert written.body.partition("\n")[2] == body.partition("\n")[2]
    assert marker.read(written.body) == closing.told
    assert written.comment == "i in s is not affected any more. Found by a run by hand."


@pytest.mark.parametrize("hostile", [HOSTILE, HOSTILE * 3000], ids=["short", "long"])
def test_hostile_text_is_inert(hostile) -> None:
    one = lettered.series("gb")
    points = tuple(structs.replace(point, signature=hostile, log=(hostile,) * 30) for point in one.points)
    one = replace(one, points=points)
    report = lettered.report(one, findings=(lettered.finding(one),), issues={"i": Topic(title=hostile)})
    (action,) = decide(report, [])
    written = page(report, action, {}, "javascript:alert(1)")
    assert len(written.body) <= LIMIT
    assert len(written.title) <= 256
    assert "\n" not in written.title
    assert marker.read(written.body) == action.told
    outside = "".join(part for part in written.body.split("\n```")[::2])
    for part in (r"(?<!\\)<script", "@me", "https://evil", "\x1b", "\u202e", r"\(javascript:", r"(?<!\\)<!-- `"):
        assert re.search(part, outside) is None, part
    assert all(not line.lstrip().startswith("::") for line in written.body.splitlines())


def test_very_many_combinations_fit() -> None:
    series = [lettered.series("gb", fixed={"python": f"3.{number}"}) for number in range(400)]
    report = lettered.report(*series, findings=tuple(map(lettered.finding, series)))
    (action,) = decide(report, [])
    written = page(report, action, {})
    assert len(written.body) <= LIMIT
    assert "and 380 combinations more" in written.body
