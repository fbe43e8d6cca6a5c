"""The runs of a store: kept, read back, and each told what the one before it said."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from builders import axis, issue, matrix, stack
from orchestrator.errors import ConfigError
from orchestrator.matrix import expand
from orchestrator.model import Judgement, News, Outcome, Provenance, Report
from orchestrator.pinpoint import Measured, answer
from orchestrator.runs import names, recorded, save

if TYPE_CHECKING:
    from pathlib import Path


def report(day: int, *outcomes: Outcome) -> Report:
    made = matrix(stack("s", axis("lib", "1", "2")), issues=(issue("i", {"s": "lib"}),))
    measured = [
        Measured(cell=cell, judgements={"i": Judgement(outcome=outcome, verdict=outcome.verdict)})
        for cell, outcome in zip(expand(made), outcomes, strict=True)
    ]
    return answer(made, measured, Provenance(tool="t", matrix="m", started=datetime(2026, 11, day, tzinfo=UTC)))


def test_a_run_says_what_changed_since_the_one_before(tmp_path: Path) -> None:
    first = save(tmp_path, report(1, Outcome.PASS, Outcome.PASS))
    assert first.since is None
    second = save(tmp_path, report(2, Outcome.PASS, Outcome.FAIL))
    assert second.since is not None
    assert [one.kind for one in second.since.differences] == [News.AFFECTED]
    assert second.since.old.started == first.provenance.started
    assert recorded(tmp_path, None) == second
    assert names(tmp_path) == ("20261101T000000.000000Z", "20261102T000000.000000Z")
    assert recorded(tmp_path, names(tmp_path)[0]) == first


def test_a_run_is_read_by_its_path_too(tmp_path: Path) -> None:
    first = save(tmp_path, report(1, Outcome.PASS, Outcome.PASS))
    path = tmp_path / "elsewhere.json"
    path.write_bytes((tmp_path / "runs" / f"{names(tmp_path)[0]}.json").read_bytes())
    assert recorded(tmp_path / "empty", str(path)) == first


def test_a_run_before_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    save(tmp_path, report(1, Outcome.PASS, Outcome.PASS))
    (tmp_path / "runs" / f"{names(tmp_path)[0]}.json").write_text("{")
    second = save(tmp_path, report(2, Outcome.PASS, Outcome.PASS))
    assert second.since is None
    (notice,) = second.notices
    assert notice.startswith("what changed since the run 20261101T000000.000000Z is not known: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a recorded run"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ('{"format": 9}', "has format 9, this version reads 1"),
        ('{"format": 1, "report": {}}', "cannot be read"),
    ],
)
def test_what_is_no_run(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        recorded(tmp_path, str(tmp_path / "bad.json"))


def test_runs_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no run in"):
        recorded(tmp_path, None)
    with pytest.raises(ConfigError, match="there is no file"):
        recorded(tmp_path, "nothing.json")
    saved = save(tmp_path, replace(report(1, Outcome.PASS, Outcome.PASS), notices=("n",)))
    assert saved.notices == ("n",)
    with pytest.raises(ConfigError, match="there is no run 'x'") as caught:
        recorded(tmp_path, "x")
    assert caught.value.hint == "the last ones: 20261101T000000.000000Z"


def test_a_run_keeps_what_this_version_does_not_know(tmp_path: Path) -> None:
    """A later program of the same format may write more."""
    first = save(tmp_path, report(1, Outcome.PASS, Outcome.PASS))
    path = tmp_path / "runs" / f"{names(tmp_path)[0]}.json"
    document = json.loads(path.read_text())
    document["report"]["colour"] = "green"
    path.write_text(json.dumps(document))
    assert recorded(tmp_path, None) == first
