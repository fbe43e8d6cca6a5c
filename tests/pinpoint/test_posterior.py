from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.pinpoint.posterior import infer
from orchestrator.pinpoint.prior import STEADY, UNKNOWN, Noise, Prior

SLACK = 1e-4
"""Hypotheses without weight are left out."""


def paths(prior, steps, bad, good, told):
    """Return P(path, runs) of every path of one issue, all hypotheses summed; the oracle."""
    fail, passes, introduced, fixed, weight = prior.grid()
    worse, better = prior.moves(steps, introduced), prior.moves(steps, fixed)
    found = {}
    for path in product((False, True), repeat=len(bad)):
        chance = weight * (prior.start if path[0] else 1 - prior.start)
        for v, state in enumerate(path):
            if told[v] and (told[v] > 0) != state:
                chance = chance * 0
            fails, shows = (1 - passes, passes) if state else (fail, 1 - fail)
            chance = chance * fails ** bad[v] * shows ** good[v]
            if v:
                step = better[v - 1] if path[v - 1] else worse[v - 1]
                chance = chance * (step if path[v - 1] != state else 1 - step)
        found[path] = chance
    return found


@st.composite
def cases(draw):
    count = draw(st.integers(1, 6))
    issues = draw(st.integers(1, 3))
    numbers = st.lists(st.integers(0, 2), min_size=count, max_size=count)
    rows = st.lists(numbers, min_size=issues, max_size=issues)
    steps = np.array(draw(st.lists(st.floats(0.1, 1), min_size=count - 1, max_size=count - 1)))
    rate = st.sampled_from([0.01, 0.1, 0.3])
    noise = tuple(
        Noise(false_fail=draw(rate), false_pass=draw(rate), weight=draw(st.floats(0.2, 1)))
        for _ in range(draw(st.integers(1, 3)))
    )
    prior = Prior(
        noise=noise,
        expected=draw(st.sampled_from([(1.0,), (0.5, 2.0)])),
        start=draw(st.sampled_from([0.2, 0.5])),
        single=draw(st.booleans()),
        pooling=0.0,
    )
    testable = np.array(draw(rows)) > 0
    # A cell that cannot be tested has no runs.
    bad, good = (np.array(draw(rows)) * testable for _ in range(2))
    told = np.zeros((issues, count), dtype=np.int8)
    if draw(st.booleans()):
        told[:, draw(st.integers(0, count - 1))] = draw(st.sampled_from([-1, 1]))
    return prior, steps / max(steps.sum(), 1.0), bad.astype(float), good.astype(float), testable, told


@given(cases())
@settings(deadline=None, max_examples=150)
def test_agrees_with_the_sum_over_all_paths(case):
    prior, steps, bad, good, testable, told = case
    found = infer(prior, steps, (bad, good), testable, told)
    fail = prior.grid()[0]
    for j in range(len(bad)):
        every = paths(prior, steps, bad[j], good[j], told[j])
        total = sum(chance.sum() for chance in every.values())
        if total < 1e-12:
            continue  # what is told is impossible
        shown = {}
        there = np.flatnonzero(testable[j])
        for path, chance in every.items():
            key = tuple(path[v] for v in there)
            shown[key] = shown.get(key, 0.0) + chance.sum() / total
        assert found.probability[j] == pytest.approx(shown[tuple(found.path[j, there])], abs=SLACK)
        assert found.probability[j] <= max(shown.values()) + SLACK
        for v in range(len(bad[j])):
            marginal = sum(chance.sum() for path, chance in every.items() if path[v]) / total
            assert found.bad[j, v] == pytest.approx(marginal, abs=SLACK)
        for old, new in combinations(there, 2):
            for turned, bad_now in zip(found.turned(old, new), (True, False), strict=True):
                change = sum(
                    chance.sum()
                    for path, chance in every.items()
                    if path[old] != path[new] and bool(path[new]) is bad_now
                )
                assert turned[j] == pytest.approx(change / total, abs=SLACK)
        rate = sum((chance * fail).sum() for chance in every.values()) / total
        assert found.false_fail[j] == pytest.approx(rate, abs=SLACK)


@given(cases())
@settings(deadline=None, max_examples=60)
def test_information_is_that_of_one_more_run_with_the_state_and_the_rates(case):
    prior, steps, bad, good, testable, told = case
    found = infer(prior, steps, (bad, good), testable, told)
    fail, passes, *_ = prior.grid()

    def bits(chance):
        inside = np.clip(chance, 1e-15, 1 - 1e-15)
        return -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))

    for j, v in product(range(len(bad)), range(len(bad[0]))):
        every = paths(prior, steps, bad[j], good[j], told[j])
        total = sum(chance.sum() for chance in every.values())
        if total < 1e-12:
            continue
        if not testable[j, v]:
            assert found.information[j, v] == 0
            continue
        ill = sum(chance for path, chance in every.items() if path[v]) / total
        well = sum(chance for path, chance in every.items() if not path[v]) / total
        fails = (ill * (1 - passes)).sum() + (well * fail).sum()
        wanted = bits(fails) - (ill * bits(passes)).sum() - (well * bits(fail)).sum()
        assert found.information[j, v] == pytest.approx(max(wanted, 0.0), abs=10 * SLACK)


def test_the_path_is_the_best_one_where_the_rates_are_known():
    random = np.random.default_rng(5)
    prior = Prior(noise=(Noise(false_fail=0.1, false_pass=0.2),), expected=(1.0,), pooling=0.0)
    steps = np.full(6, 1 / 6)
    for _ in range(30):
        bad, good = (random.integers(0, 2, (1, 7)).astype(float) for _ in range(2))
        found = infer(prior, steps, (bad, good))
        every = paths(prior, steps, bad[0], good[0], np.zeros(7))
        best = max(every, key=lambda path: every[path].sum())
        assert every[tuple(found.path[0])].sum() == pytest.approx(every[best].sum())


def test_a_rerun_multiplies():
    prior = Prior(noise=(Noise(false_fail=0.1, false_pass=0.1),), expected=(1.0,))
    none = np.zeros((1, 1))
    odds = []
    for runs in (0, 1, 2, 3):
        chance = infer(prior, np.zeros(0), (none + runs, none)).bad[0, 0]
        odds.append(chance / (1 - chance))
    assert np.diff(np.log(odds)) == pytest.approx(np.log(9.0))


def test_contradicting_runs_raise_the_rates():
    bad, good = np.array([[0.0, 0, 4, 4]]), np.array([[4.0, 4, 0, 0]])
    steady = infer(Prior(), np.full(3, 1 / 3), (bad, good))
    mixed = infer(Prior(), np.full(3, 1 / 3), (bad, good + np.array([[0, 0, 2, 2]])))
    assert mixed.false_pass[0] > steady.false_pass[0] + 0.1
    assert mixed.path[0].tolist() == steady.path[0].tolist() == [False, False, True, True]


def test_all_ok_is_a_path_and_a_lone_failure_a_flake():
    bad, good = np.zeros((1, 9)), np.full((1, 9), 2.0)
    bad[0, 4], good[0, 4] = 1, 8
    found = infer(Prior(), np.full(8, 1 / 8), (bad, good))
    assert not found.path.any()
    assert found.bad[0].max() < 0.5
    # Where a probe never lies, one failure is an island.
    good[0, 4] = 0
    island = infer(Prior(noise=STEADY), np.full(8, 1 / 8), (bad, good))
    assert np.flatnonzero(island.path[0]).tolist() == [4]


def test_steady_issues_beside_one_make_its_probe_steadier():
    bad, good = np.zeros((6, 10)), np.zeros((6, 10))
    good[0, :3] = 1
    alone = infer(Prior(), np.full(9, 1 / 9), (bad[:1], good[:1]))
    good[1:, :5], bad[1:, 5:] = 3, 3
    beside = infer(Prior(), np.full(9, 1 / 9), (bad, good))
    assert beside.false_pass[0] < alone.false_pass[0]
    assert beside.false_fail[0] < alone.false_fail[0]


def test_many_versions_and_runs_stay_finite():
    random = np.random.default_rng(3)
    bad, good = (random.integers(0, 30, (4, 300)).astype(float) for _ in range(2))
    found = infer(Prior(noise=UNKNOWN), np.full(299, 1 / 299), (bad, good))
    for values in (found.bad, found.information, found.probability, *found.turned(3, 250), found.changes):
        assert np.isfinite(values).all()
    assert ((found.bad >= 0) & (found.bad <= 1)).all()
