"""How fast steps are expected to be, from those that were made."""

import json
import threading

import pytest

from many_locks import BASE, wheel
from orchestrator.execute.port import Step
from orchestrator.pace import Pace


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "pace.json"


def step(size):
    return Step(key="k", parent=None, base=BASE, platform="linux", distributions=(wheel("w", size),))


def fed(path, runtime, *samples):
    pace = Pace(path, runtime)
    for size, seconds in samples:
        pace.note(size, seconds)
    return pace


def test_a_line_through_what_was_measured(path):
    pace = fed(path, "venv", (0, 2.0), (1000, 3.0), (3000, 5.0))
    assert pace.expect() == pytest.approx((2.0, 0.001))
    assert pace.estimate()(step(10_000)) == pytest.approx(12.0)
    assert Pace(path, "venv").expect() == pace.expect(), "the next run knows it too"


def test_runtimes_are_kept_apart(path):
    fresh = Pace(path, "docker").expect()
    fed(path, "venv", (0, 2.0), (1000, 3.0), (3000, 5.0))
    assert Pace(path, "docker").expect() == fresh
    fed(path, "docker", (0, 20.0), (1000, 30.0), (3000, 50.0))
    assert Pace(path, "venv").expect() == pytest.approx((2.0, 0.001))
    assert Pace(path, "docker").expect() == pytest.approx((20.0, 0.01))


@pytest.mark.parametrize("samples", [[], [(0, 50.0), (1000, 90.0)], [(1000, 50.0)] * 5])
def test_experience_until_enough_was_measured(path, samples):
    expected = Pace(path, "venv").expect()
    assert min(expected) > 0
    assert fed(path, "venv", *samples).expect() == expected


def test_an_unknown_runtime_has_an_estimate(path):
    assert Pace(path, "other").estimate()(step(10**9)) > 0


@pytest.mark.parametrize(
    "samples",
    [[(0, 9.0), (1000, 3.0), (3000, 1.0)], [(1000, 0.0), (2000, 9.0), (3000, 30.0)]],
    ids=["the larger the faster", "nothing takes less than no time"],
)
def test_no_estimate_is_negative(path, samples):
    each, per_byte = fed(path, "venv", *samples).expect()
    assert each >= 0
    assert per_byte >= 0


def test_only_the_last_hundred_count(path):
    old = [(size, 1000.0) for size in (1, 2, 3)]
    new = [(size, 2.0 + size / 1000) for size in range(0, 10_000, 100)]
    assert fed(path, "venv", *old, *new).expect() == pytest.approx((2.0, 0.001))
    assert len(json.loads(path.read_text())["venv"]) == 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "7",
        '{"venv": 3}',
        '{"venv": [[1]]}',
        '{"venv": [["x", 1]]}',
        '{"venv": [[null, 1]]}',
        '{"venv": [[Infinity, 1]]}',
        "\xff",
    ],
)
def test_a_damaged_file_is_begun_anew(path, text):
    expected = Pace(path, "venv").expect()
    path.parent.mkdir()
    path.write_text(text, encoding="latin-1")
    pace = Pace(path, "venv")
    assert pace.expect() == expected
    for sample in ((0, 2.0), (1000, 3.0), (3000, 5.0)):
        pace.note(*sample)
    assert pace.expect() == pytest.approx((2.0, 0.001))


def test_a_file_that_cannot_be_written_stops_nobody(path):
    path.parent.write_text("in the way")
    expected = Pace(path, "venv").expect()
    assert fed(path, "venv", (0, 2.0), (1000, 3.0), (3000, 5.0)).expect() == expected


def test_threads_lose_nothing(path):
    pace = Pace(path, "venv")
    threads = [threading.Thread(target=pace.note, args=(size, 1.0)) for size in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(size for size, _ in json.loads(path.read_text())["venv"]) == list(range(12))
