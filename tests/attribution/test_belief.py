from itertools import combinations
from math import log2, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.attribution.belief import Noise, believe
from orchestrator.attribution.hybrids import hybrids, sets
from orchestrator.attribution.suspects import suspects

NOISE = (Noise(false_fail=0.02, false_pass=0.1, weight=3), Noise(false_fail=0.2, false_pass=0.05, weight=1))
RUNS = st.dictionaries(
    st.frozensets(st.integers(0, 3)), st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6
)


def chance(noise, *, bad, failed, passed):
    p = 1 - noise.false_pass if bad else noise.false_fail
    return p**failed * (1 - p) ** passed


def slowly(runs):
    """Return the joint probability of every suspect and pair of rates with the runs, by the book."""
    found = suspects((1.0, 2.0, 1.0, 0.5))
    joint = {}
    for noise in NOISE:
        for one, prior in zip(found.sets, found.prior[:-1], strict=True):
            fits = prod(chance(noise, bad=one <= run, failed=f, passed=p) for run, (f, p) in runs.items())
            joint[one, noise] = prior * noise.weight * fits
        fits = 1.0
        for run, (f, p) in runs.items():
            ok, bad = (chance(noise, bad=bad, failed=f, passed=p) for bad in (False, True))
            fits *= ok if not run else bad if len(run) == 4 else (ok + bad) / 2
        joint[None, noise] = found.prior[-1] * noise.weight * fits
    total = sum(joint.values())
    return {key: value / total for key, value in joint.items()}


def entropy(probabilities):
    return -sum(p * log2(p) for p in probabilities if p > 0)


@settings(deadline=None)
@given(RUNS)
def test_the_posterior_is_that_of_bayes(runs):
    joint = slowly(runs)
    belief = believe(suspects((1.0, 2.0, 1.0, 0.5)), runs, NOISE)
    for number, one in enumerate([*belief.suspects.sets, None]):
        assert belief.posterior[number] == pytest.approx(sum(joint[one, n] for n in NOISE), abs=1e-9)


@settings(deadline=None)
@given(RUNS)
def test_information_is_the_entropy_that_a_run_is_expected_to_take_away(runs):
    rows = hybrids(4)
    belief = believe(suspects((1.0, 2.0, 1.0, 0.5)), runs, NOISE)
    before = entropy(belief.posterior)
    for hybrid, bits in zip(sets(rows), belief.information(rows), strict=True):
        if hybrid in runs:
            continue  # there the coin of "something else" is summed over noise first, an approximation
        failed, passed = runs.get(hybrid, (0, 0))
        after = 0.0
        for outcome in ((1, 0), (0, 1)):
            more = {**runs, hybrid: (failed + outcome[0], passed + outcome[1])}
            then = believe(belief.suspects, more, NOISE)
            p_fail = sum(
                belief.posterior[n]
                * (
                    belief.true_fail[n]
                    if one is not None and one <= hybrid
                    else (belief.true_fail[n] + belief.false_fail[n]) / 2
                    if one is None
                    else belief.false_fail[n]
                )
                for n, one in enumerate([*belief.suspects.sets, None])
            )
            after += (p_fail if outcome[0] else 1 - p_fail) * entropy(then.posterior)
        assert bits == pytest.approx(before - after, abs=1e-6)


def test_a_verdict_is_that_of_the_runs_of_the_hybrid_itself():
    runs = {frozenset({0}): (2, 1), frozenset({1}): (1, 2), frozenset({2}): (0, 0), frozenset({0, 1}): (0, 1)}
    even = (Noise(false_fail=0.1, false_pass=0.1),)
    assert believe(suspects((1.0,) * 3), runs, even).verdicts == {
        frozenset({0}): True,
        frozenset({1}): False,
        frozenset({0, 1}): False,
        frozenset(): False,
        frozenset({0, 1, 2}): True,
    }


@pytest.mark.parametrize(("false_fail", "false_pass"), [(0, 0.1), (0.1, 0), (0.6, 0.4), (1, 0.1)])
def test_rates_that_mean_nothing_are_refused(false_fail, false_pass):
    with pytest.raises(ValueError, match="noise needs"):
        Noise(false_fail=false_fail, false_pass=false_pass)


def test_larger_sets_of_many_units_are_taken_from_the_likelier_ones():
    weights = (1.0,) * 50 + (9.0,) * 20
    found = suspects(weights)
    assert sum(len(one) == 1 for one in found.sets) == 70
    triples = [one for one in found.sets if len(one) == 3]
    assert set(triples) == {frozenset(one) for one in combinations(range(50, 70), 3)}
    assert found.prior.sum() == pytest.approx(1)


def test_hybrids_are_all_of_few_units_and_a_fixed_sample_of_many():
    assert len(hybrids(5)) == len(set(sets(hybrids(5)))) == 30
    sample = hybrids(40, [frozenset({1, 2})], [frozenset(range(20))], draw=1)
    assert (sample == hybrids(40, [frozenset({1, 2})], [frozenset(range(20))], draw=1)).all()
    assert {frozenset({1}), frozenset({1, 2}), frozenset(range(40)) - {7}} <= set(sets(sample))
    assert set(sets(sample)) != set(sets(hybrids(40, [frozenset({1, 2})], [frozenset(range(20))], draw=2)))
