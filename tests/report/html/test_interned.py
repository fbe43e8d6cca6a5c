from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report.html.interned import Interned, front_coded, runs


@given(st.lists(st.text(alphabet="abc", max_size=6)))
def test_values_stand_at_their_numbers(values: list[str]) -> None:
    interned: Interned[str] = Interned()
    numbers = [interned.number(value) for value in values]
    assert [interned.values[number] for number in numbers] == values
    assert len(interned.values) == len(set(values))


@given(st.lists(st.text(alphabet="ab", max_size=8)))
def test_texts_can_be_had_back_from_what_they_share(texts: list[str]) -> None:
    coded = front_coded(texts)
    back, last = [], ""
    for shared, rest in zip(coded[::2], coded[1::2], strict=True):
        assert isinstance(shared, int)
        last = last[:shared] + str(rest)
        back.append(last)
    assert back == texts


@given(st.lists(st.integers(0, 2)))
def test_values_can_be_had_back_from_their_runs(values: list[int]) -> None:
    coded = runs(values)
    pairs = list(zip(coded[::2], coded[1::2], strict=True))
    assert [value for value, count in pairs for _ in range(count)] == values
    assert all(left[0] != right[0] for left, right in pairwise(pairs))
