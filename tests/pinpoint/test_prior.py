from __future__ import annotations

import numpy as np
import pytest

from orchestrator.pinpoint.prior import MAJOR, MINOR, PATCH, UNKNOWN, Noise, Prior, shares
from orchestrator.versions import Version


def test_steps_between_releases_weigh_more_than_patches():
    found = shares([Version(text) for text in ("1.0.0", "1.0.1", "1.1.0", "2.0.0")])
    assert found == pytest.approx(np.array([PATCH, MINOR, MAJOR]) / (PATCH + MINOR + MAJOR))
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("texts", [[], ["1.0"]])
def test_too_few_versions_have_no_steps(texts):
    assert shares([Version(text) for text in texts]).shape == (0,)


def test_every_pair_of_unknown_rates_tells_something():
    assert sum(one.weight for one in UNKNOWN) == pytest.approx(1)
    assert len({(one.false_fail, one.false_pass) for one in UNKNOWN}) == len(UNKNOWN)
    for one in UNKNOWN:
        assert one.weight > 0
        assert 0 < one.false_fail < 1 - one.false_pass < 1


def test_the_grid_weighs_expected_numbers_alike_and_noise_by_weight():
    noise = (Noise(false_fail=0.1, false_pass=0.2, weight=3), Noise(false_fail=0.2, false_pass=0.1, weight=1))
    fail, _, introduced, fixed, weight = Prior(noise=noise, expected=(1.0, 2.0)).grid()
    assert weight.sum() == pytest.approx(1)
    assert weight[fail == 0.1].sum() == pytest.approx(0.75)
    assert weight[introduced == 2.0].sum() == pytest.approx(0.5)
    assert introduced.tolist() == fixed.tolist()


def test_a_step_changes_states_by_its_share():
    moves = Prior().moves(np.array([0.25, 0.75]), np.array([0.0, 2.0]))
    assert moves[:, 0].tolist() == [0, 0]
    assert moves[:, 1] == pytest.approx(1 - np.exp([-0.5, -1.5]))


def test_a_single_change_is_as_likely_along_every_share():
    prior = Prior(single=True, expected=(0.5, 1.5))
    _, _, introduced, fixed, _ = prior.grid()
    assert min(zip(introduced, fixed, strict=True)) == (0.0, 1.0)
    assert ((introduced == 0) ^ (fixed == 0)).all()
    steps = np.array([0.1, 0.2, 0.3, 0.4])
    (chances,) = prior.moves(steps, np.array([1.0])).T
    reached = np.concatenate([[1.0], np.cumprod(1 - chances)[:-1]])
    assert reached * chances == pytest.approx(steps * (1 - np.exp(-1.0)))
