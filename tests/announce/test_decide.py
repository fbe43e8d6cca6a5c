"""What is done about the issues on GitHub, for every way in which report and issues can stand to each other."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

import lettered
from orchestrator.announce import Act, Reason, Thread, Told, decide
from orchestrator.model import Report, Series, State, Surprise, Topic
from orchestrator.pinpoint import newest_known
from orchestrator.versions import Version


def affected(letters: str = "gb", **more) -> Report:
    one = lettered.series(letters, **more)
    return lettered.report(one, findings=(lettered.finding(one, since=one.transitions[-1].version),))


def fine(letters: str = "gg", **more) -> Report:
    return lettered.report(lettered.series(letters, **more))


def thread(report: Report, *, number: int = 1, is_open: bool = True) -> Thread:
    """Return the thread that a report opens."""
    (action,) = decide(report, [])
    return Thread(number=number, open=is_open, body="", told=action.told)


def acts(report: Report, *threads: Thread) -> list[Act]:
    return [action.act for action in decide(report, threads)]


def test_a_regression_opens_one_issue() -> None:
    (action,) = decide(affected(), [])
    assert (action.act, action.told.issue, action.told.stack) == (Act.OPEN, "i", "s")
    assert action.told.at == Version("2.0")


def test_what_is_as_expected_opens_none() -> None:
    assert acts(fine()) == []
    assert acts(fine("bb")) == []


def test_an_unexpected_fix_is_no_issue() -> None:
    one = lettered.series("bg")
    assert acts(lettered.report(one, findings=(lettered.finding(one, Surprise.FIXED),))) == []


def test_series_of_one_stack_share_an_issue_and_stacks_do_not() -> None:
    series = [
        lettered.series("gb", fixed={"python": "3.11"}),
        lettered.series("gb", fixed={"python": "3.12"}),
        lettered.series("gb", stack="t"),
    ]
    report = lettered.report(*series, findings=tuple(map(lettered.finding, series)))
    assert [(one.told.stack, len(one.findings)) for one in decide(report, [])] == [("s", 2), ("t", 1)]


def test_nothing_is_said_twice() -> None:
    there = thread(affected())
    assert acts(affected(), there) == []
    assert acts(affected("gbb"), there) == [], "that a newer version has it too is no news"


def test_what_is_new_is_said() -> None:
    assert acts(affected("gbgb"), thread(affected())) == [Act.UPDATE]


def test_one_that_somebody_closed_is_left_alone_until_there_is_news() -> None:
    closed = thread(affected(), is_open=False)
    assert acts(affected(), closed) == []
    assert acts(affected("gbgb"), closed) == [Act.REOPEN]


def test_a_fix_closes_it() -> None:
    (action,) = decide(fine("gbg"), [thread(affected())])
    assert (action.act, action.reason, action.told.digest) == (Act.CLOSE, Reason.FIXED, "")


def test_it_is_reopened_when_it_comes_back_after_a_fix() -> None:
    there = thread(affected())
    (closing,) = decide(fine("gbg"), [there])
    closed = Thread(number=1, open=False, body="", told=closing.told)
    assert acts(fine("gbg"), closed) == []
    assert acts(affected(), closed) == [Act.REOPEN]


def test_it_stays_open_where_the_run_did_not_see_it_fixed() -> None:
    there = thread(affected("ggb"))
    assert acts(fine("ggd"), there) == [], "nothing is known of the version that was affected"
    assert acts(fine("gg"), there) == [], "the run did not reach that version"
    assert acts(fine("ddd"), there) == []
    other = lettered.series("ddd", fixed={"python": "3.12"})
    whole = lettered.report(lettered.series("ggg", fixed={"python": "3.11"}), other)
    assert acts(whole, there) == [], "one series of the stack is not known"
    assert acts(fine("ggg", stack="t"), there) == [], "another stack says nothing"


def test_it_is_closed_when_the_matrix_expects_it() -> None:
    report = fine("gb")
    expected = replace(report, issues={"i": Topic(title="About i", expect=State.AFFECTED)})
    (action,) = decide(expected, [thread(affected())])
    assert (action.act, action.reason) == (Act.CLOSE, Reason.EXPECTED)
    assert acts(report, thread(affected())) == [], "affected, and nobody said that it may be"


def test_of_two_threads_the_open_one_counts_then_the_newest() -> None:
    old = thread(affected(), number=1)
    assert acts(affected(), old, thread(affected(), number=2, is_open=False)) == []
    stale = Thread(number=3, open=False, body="", told=Told(issue="i", stack="s", digest="old"))
    (action,) = decide(affected(), [stale, thread(affected(), number=1, is_open=False)])
    assert action.thread == stale


def test_the_worst_first() -> None:
    new, back, fixed = (
        lettered.series(letters, issue=name) for name, letters in zip("zyx", ("gb", "gb", "gg"), strict=True)
    )
    report = lettered.report(new, back, fixed, findings=(lettered.finding(new), lettered.finding(back)))
    threads = [
        Thread(number=1, open=False, body="", told=Told(issue="y", stack="s")),
        Thread(number=2, open=True, body="", told=Told(issue="x", stack="s", digest="d", at=Version("2.0"))),
    ]
    assert acts(report, *threads) == [Act.OPEN, Act.REOPEN, Act.CLOSE]


@given(st.lists(lettered.HISTORIES, min_size=1, max_size=6))
def test_whatever_nights_bring_one_thread_says_what_the_last_known_one_did(nights) -> None:
    """Carry out what is decided night for night, and look whether the thread is open."""
    kept: Thread | None = None
    for letters in nights:
        one = lettered.series(letters)
        regressed = one.state is State.AFFECTED and any(
            change.after is not None for change in one.transitions[-1:]
        )
        report = affected(letters) if regressed else fine(letters)
        actions = decide(report, [] if kept is None else [kept])
        assert len(actions) <= 1
        for action in actions:
            kept = Thread(number=1, open=action.act is not Act.CLOSE, body="", told=action.told)
        assert decide(report, [] if kept is None else [kept]) == (), "the same night again changes nothing"
        if regressed:
            assert kept is not None
            assert kept.open
        elif kept is not None and one.state is State.OK and reaches(one, kept):
            assert not kept.open


def reaches(one: Series, kept: Thread) -> bool:
    newest = newest_known(one.points)
    return newest is not None and (kept.told.at is None or newest.version >= kept.told.at)
