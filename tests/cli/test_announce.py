"""`orchestrator announce`, with a `gh` whose repository is a file."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import lettered
from hub import Hub
from orchestrator.announce import marker
from orchestrator.runs import save

ROOT = Path(__file__).parents[2]
LABEL = "matrix-orchestrator"


@pytest.fixture
def hub(tmp_path) -> Hub:
    return Hub.made(tmp_path / "hub")


def night(tmp_path, number: int, *letters: str) -> None:
    """Keep a run of issues i0, i1, …; those that end badly after they were good are regressions."""
    series = [lettered.series(text, issue=f"i{at}") for at, text in enumerate(letters)]
    found = tuple(
        lettered.finding(one, since=one.transitions[-1].version)
        for one in series
        if one.state.value == "affected" and one.transitions[-1].after is not None
    )
    report = lettered.report(*series, findings=found)
    started = lettered.MOMENT + timedelta(days=number)
    save(tmp_path / "store", replace(report, provenance=replace(report.provenance, started=started)))


def announce(tmp_path, hub: Hub, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {name: text for name, text in os.environ.items() if not name.startswith("GITHUB_")}
    given |= {"PATH": f"{hub.bin}:{given['PATH']}", "PYTHONPATH": str(ROOT), "FAKE_GH": str(hub.file)}
    return subprocess.run(
        [sys.executable, "-m", "orchestrator", "announce", "--store", str(tmp_path / "store"), *arguments],
        cwd=tmp_path,
        env=given | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_from_the_first_night_to_the_fix(tmp_path, hub) -> None:
    night(tmp_path, 1, "gb", "gg")
    done = announce(tmp_path, hub)
    assert (done.returncode, done.stdout) == (0, "open i0 in s: https://github.com/o/r/issues/1\n"), done.stderr
    (issue,) = hub.issues
    assert (issue["title"], issue["labels"], issue["state"]) == ("About i0 (s)", [LABEL], "OPEN")

    night(tmp_path, 2, "gbb", "ggg")
    assert announce(tmp_path, hub).stdout == "nothing to announce\n"
    assert hub.issues == [issue]

    night(tmp_path, 3, "gbg", "ggg")
    assert announce(tmp_path, hub).stdout == "close i0 in s (fixed): #1\n"
    (closed,) = hub.issues
    assert (closed["state"], closed["reason"], len(closed["comments"])) == ("CLOSED", "completed", 1)
    assert announce(tmp_path, hub).stdout == "nothing to announce\n"

    night(tmp_path, 4, "gbgb", "ggg")
    assert announce(tmp_path, hub).stdout == "reopen i0 in s: #1\n"
    (back,) = hub.issues
    assert (back["state"], len(back["comments"])) == ("OPEN", 2)
    assert announce(tmp_path, hub).stdout == "nothing to announce\n"


def test_in_a_workflow_it_links_to_the_run(tmp_path, hub) -> None:
    night(tmp_path, 1, "gb")
    run = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7"}
    assert announce(tmp_path, hub, **run).returncode == 0
    assert "(https://github.com/o/r/actions/runs/7)" in hub.issues[0]["body"]


def test_a_dry_run_changes_nothing(tmp_path, hub) -> None:
    night(tmp_path, 1, "gb")
    done = announce(tmp_path, hub, "--dry-run")
    assert (done.returncode, done.stdout) == (0, "open i0 in s\n")
    assert hub.content["log"] == ["issue list"]


def test_a_bad_night_opens_a_few_and_the_next_one_goes_on(tmp_path, hub) -> None:
    night(tmp_path, 1, *["gb"] * 5)
    done = announce(tmp_path, hub, "--limit", "3")
    assert "2 more, beyond --limit 3: the next run goes on\n" in done.stdout
    assert len(hub.issues) == 3
    assert announce(tmp_path, hub, "--limit", "3").returncode == 0
    assert len(hub.issues) == 5


def test_an_issue_that_a_stranger_wrote_is_left_alone(tmp_path, hub) -> None:
    night(tmp_path, 1, "gb")
    announce(tmp_path, hub)
    hub.change(1, labels=[])
    assert announce(tmp_path, hub).stdout == "open i0 in s: https://github.com/o/r/issues/2\n"


def test_a_label_that_is_there_stays_as_it_is(tmp_path, hub) -> None:
    hub.write(labels=["Matrix-Orchestrator", LABEL])
    night(tmp_path, 1, "gb")
    assert announce(tmp_path, hub).returncode == 0
    assert "label create" not in hub.content["log"]


@pytest.mark.parametrize("command", ["issue list", "label list", "label create", "issue create"])
def test_a_refusal_says_what_is_missing(tmp_path, hub, command) -> None:
    night(tmp_path, 1, "gb")
    done = announce(tmp_path, hub, FAKE_GH_FAILS=command)
    assert done.returncode == 5
    assert f"error: gh {command}: HTTP 403: Resource not accessible by integration\n" in done.stderr
    assert "hint: in a workflow it needs `issues: write`" in done.stderr


@pytest.mark.parametrize("command", ["issue edit", "issue comment", "issue close"])
def test_what_was_cut_off_is_made_good_by_the_next_run(tmp_path, hub, command) -> None:
    night(tmp_path, 1, "gb")
    announce(tmp_path, hub)
    night(tmp_path, 2, "gbg")
    assert announce(tmp_path, hub, FAKE_GH_FAILS=command).returncode == 5
    assert hub.issues[0]["state"] == "OPEN"
    assert announce(tmp_path, hub).returncode == 0
    (issue,) = hub.issues
    told = marker.read(issue["body"])
    assert told is not None
    assert (issue["state"], told.digest) == ("CLOSED", "")


def test_without_gh(tmp_path, hub) -> None:
    night(tmp_path, 1, "gb")
    (hub.bin / "gh").unlink()
    done = announce(tmp_path, hub, PATH=str(hub.bin))
    assert (done.returncode, "there is no gh on PATH" in done.stderr) == (5, True)
