"""The text is that of `json.dumps`, whatever is written."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report.json_text import Items, Raw, compact, exact, pieces

text = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | text
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


def dumped(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


@given(st.dictionaries(text, values, min_size=1, max_size=4))
def test_an_object_is_written_as_json_does(value: dict[str, object]) -> None:
    assert b"".join(pieces((key, exact(one)) for key, one in value.items())).decode() == dumped(value)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 200])
def test_an_array_of_any_length_is_one_array(count: int) -> None:
    items = [{"at": at, "of": {"é": [at]}} for at in range(count)]
    members = [("before", 1), ("items", Items(iter(items))), ("after", [])]
    written = list(pieces(members))
    assert b"".join(written).decode() == dumped({"before": 1, "items": items, "after": []})
    assert len(written) > count // 64


@given(values)
def test_what_was_written_before_is_written_the_same(value: object) -> None:
    assert b"".join(pieces([("a", Raw(compact(exact(value))))])).decode() == dumped({"a": value})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON has no"):
        exact({"a": [number]})
