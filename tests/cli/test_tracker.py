import pytest

from orchestrator.cli.tracker import Tracker, seconds, size
from orchestrator.execute.progress import Task, TaskKind


def build(name, download):
    return Task(kind=TaskKind.PREPARE, name=name, download=download)


def run(name):
    return Task(kind=TaskKind.EXECUTE, name=name)


def test_counts_and_bytes():
    tracker = Tracker(width=2)
    big, small, cell = build("big", 3000), build("small", 1000), run("cell")
    tracker.plan([big, small, cell])
    tracker.start(big, 0.0)
    assert (tracker.queued, tracker.done, tracker.to_download) == (2, 0, 4000)
    assert tracker.finish(big, 30.0, good=True) == 30.0
    tracker.start(small, 30.0)
    tracker.finish(small, 31.0, good=False)
    assert (tracker.queued, tracker.done, tracker.failed) == (1, 2, 1)
    assert (tracker.downloaded, tracker.to_download) == (3000, 0)


def test_what_is_left_is_judged_by_bytes_and_by_number():
    tracker = Tracker(width=2)
    tasks = [build("a", 1000), build("b", 2000), run("x"), run("y")]
    tracker.plan(tasks)
    assert tracker.left(0.0) is None
    tracker.start(tasks[0], 0.0)
    tracker.finish(tasks[0], 10.0, good=True)
    tracker.start(tasks[2], 10.0)
    tracker.finish(tasks[2], 14.0, good=True)
    assert tracker.left(14.0) == (2 * 10.0 + 4.0) / 2


def test_work_that_never_began_ends_without_a_duration():
    tracker = Tracker(width=1)
    tracker.plan([run("x")])
    assert tracker.finish(run("x"), 5.0, good=False) == 0.0
    assert tracker.left(5.0) == 0.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (60, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3600, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(value, text):
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 kB"), (3_400, "3 kB"), (12_400_000, "12 MB"), (1_440_000_000, "1.4 GB")]
)
def test_sizes(value, text):
    assert size(value) == text
