"""Ages as people write them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.quantities import LONGEST_AGE, age

UNITS = {"m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90m", 5400), ("12h", 43_200), ("7d", 604_800), ("4w", 2_419_200), ("1.5 d", 129_600), ("0d", 0)],
)
def test_age(text, seconds):
    assert age(text) == seconds


@given(st.integers(0, 5200), st.sampled_from(sorted(UNITS)))
def test_every_unit_is_what_it_says(count, unit):
    assert age(f"{count}{unit}") == count * UNITS[unit]


@pytest.mark.parametrize(
    "text", ["", "7", "d", "7s", "7M", "-1d", "1e3d", "7d ", "7  d", "7d\n", "nand", "\u0667d", "1y"]
)
def test_what_is_no_age(text):
    with pytest.raises(ValueError, match="is not an age: write 90m, 12h, 7d or 4w"):
        age(text)


@pytest.mark.parametrize("text", ["5201w", "999999999w", "999999999d"])
def test_an_age_before_every_calendar(text):
    assert age("5200w") == LONGEST_AGE
    with pytest.raises(ValueError, match=re.escape(f'"{text}" is more than 5200w')):
        age(text)
