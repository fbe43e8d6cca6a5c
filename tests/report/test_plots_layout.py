"""Scales that show every number, and labels that keep apart."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report.plots.scale import ABOVE, BELOW, Form, row, scale
from orchestrator.report.plots.ticks import Flag, labelled, stacked


@pytest.mark.parametrize(
    ("values", "threshold", "form"),
    [
        ([1.0, 2.0], None, Form.LINEAR),
        ([1.0, 999.0], None, Form.LINEAR),
        ([1.0, 1000.0], None, Form.LOG),
        ([0.0, 1.0, 1000.0], None, Form.LOG),
        ([3.7e-6, 4e-6], 1e-1, Form.LOG),
        ([0.0, 0.25], 0.0, Form.LINEAR),
        ([1e-6, 1.0], 0.0, Form.SYMLOG),
        ([-1.0, 1e-6, 1.0], None, Form.SYMLOG),
        ([], None, Form.LINEAR),
        ([math.nan, math.inf], None, Form.LINEAR),
    ],
)
def test_the_form_of_a_scale(values, threshold, form):
    assert scale(values, threshold).form is form


def test_a_logarithmic_scale_has_ticks_at_powers_of_ten():
    assert scale([3e-6, 1.5], None).ticks == pytest.approx((1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0))


def test_a_scale_without_numbers_is_empty():
    assert scale([math.nan], math.inf).empty
    assert not scale([math.nan], 1.0).empty


ANY = st.lists(
    st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1e300, 1.7e308, -1.7e308, 1.0]), min_size=1
)


@given(ANY, st.none() | st.floats())
def test_every_number_has_a_row_or_a_place_on_the_scale(values, threshold):
    shown = scale(values, threshold)
    assert shown.low < shown.high
    placed = []
    for value in values:
        name = row(value, shown.form)
        if name is None:
            placed.append((value, shown.at(value)))
        else:
            assert name in (*ABOVE, *BELOW)
    assert all(0 <= at <= 1 for _, at in placed)
    assert shown.empty <= (not placed)
    heights = [at for _, at in sorted(placed)]
    assert all(high - low >= -1e-12 for low, high in itertools.pairwise(heights))
    assert all(shown.low <= tick <= shown.high for tick in shown.ticks)
    if threshold is not None and math.isfinite(threshold) and 1e-300 <= abs(threshold) <= 1e300:
        assert 0 <= shown.at(threshold) <= 1


@given(
    st.lists(st.floats(5, 200), min_size=1, max_size=120),
    st.floats(2, 300),
    st.sets(st.integers(0, 119), max_size=6),
)
def test_labels_of_versions_keep_apart(widths, step, important):
    important = {place for place in important if place < len(widths)}
    turned = labelled(widths, step, important)
    places = turned.places
    assert list(places) == sorted(set(places))
    assert places
    if turned.degrees == 0:
        assert len(places) == len(widths)
        assert max(widths) < step
    else:
        # Turned labels are a line of small letters high.
        assert all((b - a) * step >= 11 for a, b in itertools.pairwise(places))
    # Nothing is left out for which there is room.
    missing = set(range(len(widths))) - set(places)
    room = 2 * math.ceil(11.5 / step)
    assert not [place for place in missing if all(abs(place - kept) >= room for kept in places)]


def test_both_sides_of_a_change_are_labelled_before_others():
    assert {7, 9} <= set(labelled([40.0] * 60, 7.0, {7, 9}).places)


flags = st.builds(
    lambda pole, width, leftwards: Flag(
        pole=pole, left=pole - width * leftwards, right=pole + width * (not leftwards)
    ),
    st.integers(0, 500).map(float),
    st.floats(10, 150),
    st.booleans(),
)


@given(st.lists(flags, max_size=12, unique_by=lambda flag: flag.pole))
def test_words_neither_overlap_nor_are_crossed_by_poles(given_flags):
    rows = stacked(given_flags)
    placed = [(flag, row) for flag, row in zip(given_flags, rows, strict=True) if row is not None]
    assert bool(placed) == bool(given_flags)
    for flag, row_ in placed:
        for other, other_row in placed:
            if other is flag:
                continue
            assert row_ != other_row or flag.right < other.left or other.right < flag.left
            # A pole passes the words of all rows below its own.
            assert other_row <= row_ or not flag.left <= other.pole <= flag.right


def test_a_word_that_is_alone_is_at_the_bottom():
    apart = [Flag(pole=float(x), left=float(x), right=x + 50.0) for x in (0, 100, 200)]
    assert stacked(apart) == (0, 0, 0)
