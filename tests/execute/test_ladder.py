import signal
from threading import Event

import pytest

from orchestrator.execute.ladder import LADDER, Ending, see_through


class Target:
    """Ends at a moment of its own, or so many seconds after a signal it minds."""

    def __init__(self, *, ends=float("inf"), minds=None):
        self.now, self.ends, self.minds, self.got = 0.0, ends, minds or {}, []

    def ended(self, wait):
        self.now += wait
        return self.now >= self.ends

    def send(self, number):
        self.got.append((round(self.now), number))
        if number in self.minds:
            self.ends = min(self.ends, self.now + self.minds[number])

    def clock(self):
        return self.now


def seen(target, *, deadline=60.0, cancel=None):
    return see_through(target, deadline=deadline, cancel=cancel or Event(), clock=target.clock)


def test_ends_by_itself():
    target = Target(ends=59)
    ending = seen(target)
    assert ending == Ending()
    assert target.got == []


@pytest.mark.parametrize(
    ("minds", "got"),
    [
        ({signal.SIGINT: 3}, [(60, signal.SIGINT)]),
        ({signal.SIGTERM: 3}, [(60, signal.SIGINT), (70, signal.SIGTERM)]),
        ({signal.SIGKILL: 0}, [(60, signal.SIGINT), (70, signal.SIGTERM), (75, signal.SIGKILL)]),
    ],
)
def test_down_the_ladder_at_the_deadline(minds, got):
    target = Target(minds=minds)
    ending = seen(target)
    assert ending.deadline_passed
    assert not ending.cancelled
    assert not ending.survived
    assert target.got == got


def test_cancel_goes_down_at_once():
    cancel = Event()
    cancel.set()
    target = Target(minds={signal.SIGINT: 1})
    ending = seen(target, cancel=cancel)
    assert ending.cancelled
    assert not ending.deadline_passed
    assert target.now < 3


def test_what_no_signal_ends_is_given_up():
    target = Target()
    ending = seen(target)
    assert ending.survived
    assert target.now < 60 + sum(grace for _, grace in LADDER) + 2
