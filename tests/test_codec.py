"""Whatever a stage writes, a later program reads back equal; what is wrong is named."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

import lettered
from orchestrator import model
from orchestrator.codec import _explained, _quickly, from_json, to_json
from orchestrator.versions import SpecifierSet, Version

versions = st.builds(
    "{}.{}{}{}".format,
    st.integers(0, 30),
    st.integers(0, 300),
    st.sampled_from(["", ".1", "a0", "rc1", ".post2", ".dev3"]),
    st.sampled_from(["", "+cpu", "+xpu", "+cxx11.abi"]),
).map(Version)
clauses = st.builds(
    "{}{}".format, st.sampled_from([">=", "<", "==", "!=", "~="]), st.sampled_from(["2.1", "2.0.1", "3.0a1"])
)
specifiers = st.lists(clauses, max_size=3).map(lambda parts: SpecifierSet(",".join(parts)))
zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))])
moments = st.datetimes(min_value=datetime(1990, 1, 1), timezones=zones)  # noqa: DTZ001 - bounds are naive
words = st.text(max_size=12)
numbers = st.floats(allow_nan=False)  # NaN is not equal to itself; it has a test of its own

for kind, strategy in {
    Version: versions,
    SpecifierSet: specifiers,
    datetime: moments,
    Path: words.map(Path),
    float: numbers,
}.items():
    st.register_type_strategy(kind, strategy)

KINDS = [kind for name in model.__all__ if isinstance(kind := getattr(model, name), type)]
ORIGIN = {"attempt": "a", "runtime": "venv", "base": "b", "started": "2024-05-01T00:00:00Z", "duration": 1.5}
VALUES = [kind for kind in KINDS if dataclasses.is_dataclass(kind) or issubclass(kind, Struct)]


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_a_value_survives_the_way_through_json_text(kind: type, data: st.DataObject) -> None:
    value = data.draw(st.builds(kind))
    text = json.dumps(to_json(value), allow_nan=False)
    assert from_json(kind, json.loads(text)) == value


def test_the_json_form_is_the_plain_one() -> None:
    wheel = model.Distribution(
        name="torch", version=Version("2.6.0+xpu"), url="https://x/t.whl", sha256="00", size=None, index="i"
    )
    lock = model.Lock(
        python="3.11",
        platform="x86_64-manylinux_2_28",
        as_of=datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))),
        distributions=(wheel,),
    )
    assert to_json(lock) == {
        "python": "3.11",
        "platform": "x86_64-manylinux_2_28",
        "as_of": "2024-05-01T00:00:00Z",
        "distributions": [
            {
                "name": "torch",
                "version": "2.6.0+xpu",
                "url": "https://x/t.whl",
                "sha256": "00",
                "size": None,
                "index": "i",
                "uploaded": None,
            }
        ],
        "warnings": [],
        "base": None,
        "prebuilt": None,
    }


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_numbers_json_has_no_word_for(number: float) -> None:
    result = model.ProbeResult(probe="f.py::t", outcome=model.Outcome.FAIL, metrics={"mae": number})
    text = json.dumps(to_json(result), allow_nan=False)
    assert repr(from_json(model.ProbeResult, json.loads(text)).metrics["mae"]) == repr(number)


def test_keys_of_a_later_program_are_ignored() -> None:
    data = {"probe": "f.py::t", "outcome": "pass", "colour": "green"}
    assert from_json(model.ProbeResult, data) == model.ProbeResult(probe="f.py::t", outcome=model.Outcome.PASS)


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (model.ProbeResult, {"outcome": "pass"}, "'probe' is missing"),
        (model.ProbeResult, {"probe": 1, "outcome": "pass"}, "needs text, got 1 @ .probe"),
        (model.ProbeResult, {"probe": "p", "outcome": "fine"}, "'fine' is not a valid Outcome @ .outcome"),
        (model.ProbeResult, {"probe": "p", "outcome": "pass", "duration": True}, "needs a number, got True"),
        (model.ProbeResult, {"probe": "p", "outcome": "pass", "metrics": []}, "needs an object, got []"),
        (model.ProbeResult, {"probe": "p", "outcome": "pass", "duration": 10**400}, "too large"),
        (model.ProbeResult, [], "needs an object"),
        (model.ProbeResult, None, "needs an object"),
        (model.Axis, {"package": "torch", "versions": "2.1"}, "@ .versions"),
        (tuple[Version, ...], ["2.1", "two"], "two"),
        (tuple[str, str], ["a"], "needs 2 items"),
        (model.Origin, {**ORIGIN, "started": "2024-05-01T00:00:00"}, "no time zone"),
        (datetime, 5, "needs a time"),
    ],
)
def test_wrong_data_is_a_value_error_that_names_the_place(kind: type, data: object, words: str) -> None:
    with pytest.raises(ValueError, match="not a valid") as caught:
        from_json(kind, data)
    assert words in str(caught.value)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("2.1"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_what_is_read_quickly_is_what_the_reading_that_explains_reads(kind: type, data: st.DataObject) -> None:
    """One field is anything at all: what is unusual may be left to the slower reading, and nothing else."""
    document = to_json(data.draw(st.builds(kind)))
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(_json)
    outcomes = []
    for read in (_quickly, _explained):
        try:
            outcomes.append(repr(read(kind, document)))
        except Exception:  # noqa: BLE001 - of any kind: `from_json` makes one of them all
            outcomes.append(None)
    assert outcomes[0] in (None, outcomes[1])


@pytest.mark.parametrize("value", [lettered.report(lettered.series("gbg")), lettered.series("gb")])
def test_usual_values_are_read_quickly(value: object) -> None:
    assert _quickly(type(value), json.loads(json.dumps(to_json(value)))) == value


def test_a_time_without_a_zone_is_not_written() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_json(datetime(2024, 5, 1))  # noqa: DTZ001 - the point of the test


def test_the_library_is_imported_on_first_use_only() -> None:
    code = "import sys, orchestrator.codec; raise SystemExit('cattrs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
