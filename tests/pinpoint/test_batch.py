"""Many lines at once say what each says by itself."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.pinpoint import batch
from orchestrator.pinpoint.batch import infer_lines
from orchestrator.pinpoint.posterior import infer
from orchestrator.pinpoint.prior import STEADY, Prior

EQUAL = 1e-12


def history(random: np.random.Generator, rows: int, count: int) -> tuple[Any, Any, Any]:
    """Return runs of so many issues, that change now and then, with flakes and versions that cannot be tested."""
    testable = random.random((rows, count)) > 0.1
    states = (np.cumsum(random.random((rows, count)) < 0.1, axis=1) + random.integers(0, 2, (rows, 1))) % 2 == 1
    runs = random.choice([0.0, 1.0, 2.0], p=[0.1, 0.8, 0.1], size=states.shape) * testable
    flaky = random.random(states.shape) < 0.03
    bad = np.where(states ^ flaky, runs, np.where(flaky & (runs > 1), 1.0, 0.0))
    return bad, runs - bad, testable


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 40),
    count=st.integers(1, 25),
    many=st.integers(1, 6),
    together=st.sampled_from([1, 3, 128]),
    prior=st.sampled_from([Prior(), Prior(pooling=0.0), Prior(noise=STEADY), Prior(single=True)]),
)
def test_every_line_says_what_it_says_alone(
    seed: int, rows: int, count: int, many: int, together: int, prior: Prior
) -> None:
    random = np.random.default_rng(seed)
    bad, good, testable = history(random, rows, count)
    steps = random.choice([1.0, 2.0, 4.0], size=count - 1)
    steps /= steps.sum() or 1.0
    lines = [random.integers(0, rows, random.integers(1, 12)) for _ in range(many)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_ROWS", together)
        found = {(one.line, one.place): one for one in infer_lines(prior, steps, (bad, good), testable, lines)}
    for number, line in enumerate(lines):
        alone = infer(prior, steps, (bad[line], good[line]), testable[line])
        for place, row in enumerate(line):
            known = np.flatnonzero(bad[row] + good[row])
            one = found.pop((number, place), None)
            assert (one is None) is (len(known) == 0)
            if one is None:
                continue
            assert one.probability == pytest.approx(alone.probability[place], abs=EQUAL)
            assert one.bad == pytest.approx(alone.bad[place], abs=EQUAL)
            assert (one.false_fail, one.false_pass) == pytest.approx(
                (alone.false_fail[place], alone.false_pass[place]), abs=EQUAL
            )
            assert (one.introduced, one.fixed) == pytest.approx(tuple(alone.changes[place]), abs=EQUAL)
            assert one.path[known].tolist() == alone.path[place][known].tolist()
            for old, new in pairwise(known):
                each = tuple(chances[place] for chances in alone.turned(old, new))
                assert one.turned(old, new) == pytest.approx(each, abs=EQUAL)
    assert not found
