from itertools import combinations

from many_locks import BASE, locked, many_locks, wheel
from orchestrator.execute.port import Base
from orchestrator.planning import distinct_bytes, least_bytes, plan_steps, stored_bytes
from orchestrator.planning.groups import UNKNOWN_SIZE

MB = 10**6
OTHER = Base(python="3.11", digest="other", reference="other", origin="test")
CUDA, TORCH1, TORCH2 = wheel("cuda", 2000 * MB), wheel("torch", 800 * MB), wheel("torch", 900 * MB, "2.0")
NUMPY, SMALL = wheel("numpy", 20 * MB), wheel("small", MB)


def least(*locks, base=BASE):
    return least_bytes([(lock, base) for lock in locks])


def slowly(locks):
    """Do the same with Kruskal's algorithm over all pairs of locks."""
    sets = [frozenset(lock.distributions) for lock in locks]
    pairs = [(sum(d.size for d in sets[a] & sets[b]), a, b) for a, b in combinations(range(len(sets)), 2)]
    part = list(range(len(sets)))
    total = sum(d.size for wheels in sets for d in wheels)
    for weight, a, b in sorted(pairs, reverse=True):
        if part[a] != part[b]:
            total -= weight
            part = [part[a] if p == part[b] else p for p in part]
    return total


def test_what_nests_can_be_stored_once():
    locks = locked(CUDA), locked(CUDA, TORCH1), locked(CUDA, TORCH2), locked(CUDA, TORCH2, NUMPY)
    assert least(*locks) == distinct_bytes([(lock, BASE) for lock in locks]) == (2000 + 800 + 900 + 20) * MB


def test_what_crosses_cannot():
    # Two locks have each of cuda, torch and numpy: a tree can share one of them, and cuda is the largest.
    assert least(locked(CUDA, TORCH1), locked(CUDA, NUMPY), locked(TORCH1, NUMPY)) == (2000 + 800 + 20 + 20) * MB


def test_no_locks_and_empty_locks():
    assert least() == least(locked()) == 0
    assert least(locked(), locked(SMALL)) == MB


def test_equal_locks_count_once_and_bases_apart():
    assert least(locked(CUDA), locked(CUDA)) == 2000 * MB
    assert least_bytes([(locked(CUDA), BASE), (locked(CUDA, platform="other"), OTHER)]) == 4000 * MB


def test_unknown_sizes_count_the_same_everywhere():
    locks = [(locked(wheel("secret", None), TORCH1), BASE), (locked(wheel("secret", None), TORCH2), BASE)]
    assert least_bytes(locks) == 1700 * MB + UNKNOWN_SIZE
    assert stored_bytes(plan_steps(locks, "FROM x")) == 1700 * MB + 2 * UNKNOWN_SIZE


def test_sizes_beyond_all_measure_leave_it_a_bound():
    huge = wheel("huge", 2**80 + 1)
    locks = locked(huge, SMALL), locked(huge, NUMPY), locked(SMALL, NUMPY)
    assert huge.size + 21 * MB <= least(*locks) <= slowly(locks)


def test_thousands_of_fields_are_added_right():
    for count, torches in ((1, 1), (2, 1), (70, 7), (150, 12)):
        locks = [lock for lock, _ in many_locks(count, torches=torches)]
        assert least(*locks) == slowly(locks)
