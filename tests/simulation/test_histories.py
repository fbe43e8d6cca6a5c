from __future__ import annotations

import numpy as np
import pytest

from orchestrator.simulation import Setting, World, draw


def drawn(count=200, **given):
    return [draw(Setting(**given), np.random.default_rng(seed)) for seed in range(count)]


def test_transitions_are_as_likely_as_their_weights():
    changes = np.concatenate(
        [np.diff(world.bad.astype(int), axis=1).astype(bool).sum(axis=1) for world in drawn()]
    )
    shares = np.bincount(changes, minlength=4) / len(changes)
    assert shares == pytest.approx([0.30, 0.46, 0.16, 0.08], abs=0.03)


def test_changes_are_anywhere_and_half_of_the_histories_start_bad():
    worlds = drawn(transitions=(0, 1), issues=20, versions=8)
    places = np.concatenate([np.diff(world.bad.astype(int), axis=1).nonzero()[1] for world in worlds])
    assert np.bincount(places, minlength=7) / len(places) == pytest.approx(np.full(7, 1 / 7), abs=0.03)
    assert np.mean([world.bad[:, 0].mean() for world in worlds]) == pytest.approx(0.5, abs=0.03)


def test_histories_whose_ends_are_told_start_good():
    assert not any(world.bad[:, 0].any() for world in drawn(20, told=True))


def test_the_same_seed_gives_the_same_world():
    one, other = (draw(Setting(), np.random.default_rng(7)) for _ in range(2))
    assert (one.bad == other.bad).all()


def test_a_few_versions_have_few_transitions():
    world = draw(Setting(versions=2, transitions=(0, 0.5, 0.3, 0.2), issues=50), np.random.default_rng(0))
    assert (world.bad[:, 0] != world.bad[:, 1]).all()


def test_untestable_versions_stand_in_blocks_within_the_shares():
    blocks = []
    for world in drawn(100, untestable=(0.1, 0.3)):
        closed = ~world.testable
        assert (closed == closed[0]).all()
        assert 0.1 - 1 / 64 <= closed[0].mean() <= 0.3 + 1 / 64
        blocks.append(closed[0].sum() / max(1, (np.diff(closed[0].astype(int)) == 1).sum() + closed[0, 0]))
    assert np.mean(blocks) > 2


def test_runs_lie_at_the_rates():
    bad = np.repeat([[True], [False]], 20_000, axis=0)
    world = World(bad=bad, testable=np.ones(bad.shape, dtype=bool), false_fail=0.1, false_pass=0.3)
    said = world.run(np.random.default_rng(0), 0)
    assert (said[bad[:, 0]] < 0).mean() == pytest.approx(0.3, abs=0.02)
    assert (said[~bad[:, 0]] > 0).mean() == pytest.approx(0.1, abs=0.02)


def test_untestable_cells_say_nothing():
    world = World(bad=np.array([[True, True]]), testable=np.array([[False, True]]))
    assert [world.run(np.random.default_rng(0), cell).tolist() for cell in (0, 1)] == [[0], [1]]
