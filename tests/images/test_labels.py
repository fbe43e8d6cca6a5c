"""What an image says about itself is what was made."""

import json
from datetime import UTC, datetime

import pytest

from many_locks import BASE, MB, wheel
from orchestrator.execute.port import Step
from orchestrator.images.labels import (
    BASE_LABEL,
    CREATED_LABEL,
    PARENT_LABEL,
    PLATFORM_LABEL,
    STEP_LABEL,
    TOOL,
    TOOL_LABEL,
    WHEELS_LABEL,
    base_labels,
    step_labels,
    wheels_of,
)

WHEELS = (wheel("six", 10), wheel("torch", 800 * MB, "2.1.0+cpu"))


def step(parent, *wheels):
    return Step(key="key", parent=parent, base=BASE, platform="linux", distributions=wheels)


@pytest.mark.parametrize("parent", [None, "parent"])
@pytest.mark.parametrize("wheels", [(), WHEELS])
def test_round_trip(parent, wheels):
    made = step(parent, *wheels)
    labels = step_labels(made)
    assert wheels_of(labels) == made.wheels
    assert (labels[STEP_LABEL], labels[PARENT_LABEL] or None) == ("key", parent)
    assert (labels[BASE_LABEL], labels[PLATFORM_LABEL]) == (BASE.digest, "linux")
    assert labels[TOOL_LABEL] == TOOL


def test_a_base_stands_on_nothing_and_adds_nothing():
    labels = base_labels(BASE)
    assert labels[STEP_LABEL] == labels[BASE_LABEL] == BASE.digest
    assert labels[PARENT_LABEL] == ""
    assert wheels_of(labels) == ()
    assert labels[TOOL_LABEL] == TOOL


@pytest.mark.parametrize("make", [lambda: base_labels(BASE), lambda: step_labels(step(None, *WHEELS))])
def test_labels_are_plain_text_with_a_moment(make):
    labels = make()
    assert all(isinstance(part, str) and "\n" not in part for pair in labels.items() for part in pair)
    assert abs((datetime.now(UTC) - datetime.fromisoformat(labels[CREATED_LABEL])).total_seconds()) < 600


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "7", "[7]", "[null]", '[["torch", "2.1"]]', '[["torch", "2.1", "sha", "more"]]', "[[]]"],
)
def test_what_another_version_wrote_has_no_wheels(text):
    assert wheels_of({WHEELS_LABEL: text}) == ()


def test_no_label_at_all():
    assert wheels_of({}) == ()


def test_the_largest_wheel_comes_first():
    names = [name for name, _, _ in json.loads(step_labels(step(None, *WHEELS))[WHEELS_LABEL])]
    assert names == ["torch", "six"]
