"""`run --search`: the right answers from a part of the cells, through interruptions and budgets."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

import search_history as history
from search_history import orchestrator, runs
from wheelhouse import Wheelhouse

SCHEMA = history.ROOT / "docs" / "reference" / "report.schema.json"
SEARCHED = ["regression", "mended", "island", "hidden"]
TESTABLE = len(history.RELEASES) - len(history.UNTESTABLE)

PART = ("few.yaml", "--search", "adaptive", "--issue", "mended", "--jobs", "2")
"""A search that is short enough to be done several times: ten releases, one fix."""

FIXED = [("introduced", None, "1.12", []), ("fixed", "1.16", "1.17", [])]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("search")
    house = Wheelhouse(directory / "house")
    history.publish(house, directory / "counter")
    text = history.write_project(
        directory,
        "tinylib",
        history.BAD,
        indexes={"house": house.url},
        packages={"tinylib": 'repository: "https://example.org/tinylib", indexes: {cpu: [house]}'},
        stacks={"tiny": 'device: cpu, axes: {tinylib: ">=1.0"}'},
        issues={
            name: f"title: {name}, subject: {{tiny: tinylib}}, expect: {state}, "
            f'probes: ["test_tinylib.py::test_{name}"]'
            for name, (state, _) in history.ANSWERS.items()
        },
    )
    (directory / "few.yaml").write_text(text.replace('">=1.0"', '">=1.12,<1.22"'), encoding="utf-8")
    return directory


def cell(version: str) -> str:
    return f"tiny-py3.11-tinylib{version}"


def report_of(path: Path, done: subprocess.CompletedProcess[str] | None = None) -> dict:
    assert path.exists(), done and done.stderr
    return json.loads(path.read_text(encoding="utf-8"))


def transitions(result: dict) -> list[tuple]:
    return [(t["kind"], t["after"], t["version"], t["untested"]) for t in result["transitions"]]


@pytest.fixture(scope="module")
def searched(project):
    store = project / "adaptive"
    done = orchestrator(
        "run", "--search", "adaptive", "--store", str(store), *(f"--issue={name}" for name in SEARCHED),
        "--jobs", "2", "--report", "text", "--report", f"json:{store}.json", cwd=project,
    )  # fmt: skip
    return store, done


@pytest.fixture(scope="module")
def report(searched):
    store, done = searched
    return report_of(Path(f"{store}.json"), done)


@pytest.fixture(scope="module")
def results(report):
    return {result["issue"]: result for result in report["results"]}


class TestAdaptive:
    """All issues at once, until every one is answered."""

    def test_it_ends_well(self, searched):
        _, done = searched
        assert done.returncode == 0, done.stderr + done.stdout

    @pytest.mark.parametrize("issue", SEARCHED)
    def test_every_answer_is_right(self, results, issue):
        state, expected = history.ANSWERS[issue]
        assert transitions(results[issue]) == expected
        assert results[issue]["state"] == state

    def test_nothing_exact_is_said_of_a_change_among_versions_that_cannot_be_tested(self, searched, results):
        _, done = searched
        (hidden,) = results["hidden"]["transitions"]
        assert (hidden["after"], hidden["version"]) == ("1.21", "1.25")
        for version in history.UNTESTABLE:
            assert f"1.{history.BAD['hidden'].start}" in history.UNTESTABLE, "the truth lies there"
            assert not re.search(rf"in {re.escape(version)} \(after", done.stdout)
        assert "in (1.21, 1.25] (1.22, 1.23 and 1.24 untested)" in done.stdout
        outcomes = {version: results["hidden"]["cells"][version]["outcome"] for version in history.UNTESTABLE}
        assert outcomes == {"1.22": "unresolvable", "1.23": "incompatible", "1.24": "unresolvable"}

    def test_it_leaves_cells_out(self, searched, report):
        store, _ = searched
        ran = Counter(runs(store))
        assert report["search"]["runs"] == ran.total()
        assert len(ran) <= 0.75 * TESTABLE
        assert ran.total() <= TESTABLE, "with all that is run again"
        outcomes = {name: one["status"] for one in report["cells"] for name in [one["cell"]]}
        left_out = {name for name, status in outcomes.items() if status == "not-run"}
        assert not left_out & set(ran)
        assert left_out | set(ran) | {cell(version) for version in history.UNRESOLVABLE} == set(outcomes)

    def test_both_sides_of_every_change_ran_at_least_twice(self, searched, report, results):
        store, done = searched
        ran = Counter(runs(store))
        sides = {
            (result["issue"], version)
            for result in results.values()
            for transition in result["transitions"]
            for version in (transition["after"], transition["version"])
        }
        assert sides
        counted = {one["issue"]: one["runs"] for one in report["evidence"]}
        for issue, version in sides:
            bad = int(version.partition(".")[2]) in history.BAD[issue]
            assert counted[issue][version]["bad" if bad else "good"] >= 2
            assert ran[cell(version)] >= 2
        assert re.search(r"certainty: +\S.*%, with \d+ runs of 1\.17 and \d+ runs of 1\.18", done.stdout)

    def test_every_outcome_is_true(self, results):
        for issue, result in results.items():
            for version, point in result["cells"].items():
                if point["outcome"] in ("pass", "fail"):
                    minor = int(version.partition(".")[2])
                    assert (point["outcome"] == "fail") == (minor in history.BAD[issue])

    def test_the_text_says_how_sure_it_is_and_what_was_left_out(self, searched):
        store, done = searched
        total, ran = len(runs(store)), len(set(runs(store)))
        there = TESTABLE + len(history.DIES_AT_IMPORT)
        assert (
            f"searched: {total} runs, results in {ran} of {there} cells; every issue is answered at 95.0%"
        ) in done.stdout
        _, _, certainty = done.stdout.partition("\nCertainty\n")
        flat = " ".join(certainty.split())
        for issue in SEARCHED:
            assert re.search(rf"{issue} in tiny / tinylib: known at \S+% after \d+ runs; largest gap 1\.", flat)

    def test_the_json_is_as_documented(self, report):
        jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(report)
        assert report["search"]["open"] == []
        assert report["search"]["stopped"] is None
        for one in report["evidence"]:
            assert one["belief"]["probability"] >= 0.95

    def test_it_is_told_as_it_goes(self, searched):
        _, done = searched
        narrowed = re.findall(
            r"(\w+): narrowed tinylib from (1\.\d+) … (1\.\d+) to (1\.\d+) … (1\.\d+)", done.stderr
        )
        assert {issue for issue, *_ in narrowed} >= {"regression", "hidden"}
        for _, *versions in narrowed:
            old, older, new, newer = (int(version.partition(".")[2]) for version in versions)
            assert old <= new < newer <= older
        assert re.search(r"; about \d+ runs? left; next tinylib 1\.\d+", done.stderr)
        assert re.search(r"next .*tinylib 1\.\d+ \(warm\)", done.stderr)

    def test_what_is_answered_needs_no_more_runs(self, project, searched, results):
        store, _ = searched
        before = runs(store)
        done = orchestrator(
            "run", "--search", "adaptive", "--store", str(store), *(f"--issue={name}" for name in SEARCHED),
            "--jobs", "2", "--report", f"json:{store}-again.json", cwd=project,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert runs(store) == before
        again = report_of(Path(f"{store}-again.json"))
        assert {result["issue"]: result for result in again["results"]} == results
        assert again["search"]["runs"] == 0


@pytest.fixture(scope="module")
def whole(project):
    store = project / "whole"
    done = orchestrator("run", *PART, "--store", str(store), "--report", f"json:{store}.json", cwd=project)
    assert done.returncode == 0, done.stderr
    return runs(store), report_of(Path(f"{store}.json"))


@pytest.fixture(scope="module")
def stopped(project):
    return project / "stopped"


class TestStopped:
    """A budget, then an interrupt, then to the end: as good as one search without any of it."""

    def test_a_budget_ends_it_and_it_says_what_is_open(self, project, stopped):
        done = orchestrator(
            "run", *PART, "--budget", "3cells", "--store", str(stopped), "--report", "text",
            "--report", f"json:{stopped}.json", cwd=project,
        )  # fmt: skip
        assert done.returncode == 4, done.stderr
        assert len(runs(stopped)) == 3
        flat = " ".join(done.stdout.split())
        assert "not answered at 95.0%: mended in tiny, because its budget of 3 cells is used" in flat
        search = report_of(Path(f"{stopped}.json"))["search"]
        assert (search["runs"], search["open"]) == (3, ["mended in tiny"])

    def test_an_interrupt_keeps_what_was_measured(self, project, stopped):
        before = len(runs(stopped))
        command = history.program("run", *PART, "--store", str(stopped))
        with subprocess.Popen(
            command,
            cwd=project,
            env=history.environment(project),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            told = ""
            for line in process.stderr:
                told += line
                if re.search(r"run +tiny\S+: \d (pass|fail)", line):
                    process.send_signal(signal.SIGINT)
                    break
            _, rest = process.communicate(timeout=120)
        assert process.returncode == 130, told + rest
        assert "the same command goes on from there" in rest
        assert len(runs(stopped)) > before

    def test_the_next_one_goes_on_and_answers_the_same(self, project, stopped, whole):
        straight, answer = whole
        before = runs(stopped)
        done = orchestrator("run", *PART, "--store", str(stopped), "--report", f"json:{stopped}.json", cwd=project)
        assert done.returncode == 0, done.stderr
        report = report_of(Path(f"{stopped}.json"))
        assert [transitions(one) for one in report["results"]] == [FIXED]
        assert [transitions(one) for one in answer["results"]] == [FIXED]
        # Each of the two stops may cost what was running, and the order of cells depends on what they took.
        assert len(before) + report["search"]["runs"] == len(runs(stopped))
        assert len(runs(stopped)) <= len(straight) + 2 * 2 + 2

    def test_then_there_is_nothing_left_to_run(self, project, stopped):
        before = runs(stopped)
        done = orchestrator("run", *PART, "--store", str(stopped), cwd=project)
        assert done.returncode == 0, done.stderr
        assert runs(stopped) == before
        assert "searched: 0 runs" in done.stdout


def test_auto_runs_every_one_of_a_few_cells_and_says_so(project):
    store = project / "auto"
    few = ("few.yaml", "--issue", "mended", "--store", str(store), "-k")
    done = orchestrator("run", "--search", "auto", *few, "tinylib>=1.16 and tinylib<1.19", cwd=project)
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"a search is expected to cost no less than running every cell \(\d+%\): every cell is run", done.stderr
    )
    assert runs(store) == [cell(version) for version in ("1.16", "1.17", "1.18")]
    assert "searched:" not in done.stdout
    # Without --search, every cell is run.
    done = orchestrator("run", *few, "tinylib>=1.14 and tinylib<1.19", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "measuring 2 of 5 cells" in done.stderr
    assert runs(store) == [cell(f"1.{minor}") for minor in range(14, 19)]
    assert "searched:" not in done.stdout


def test_a_flaky_probe_is_named(project):
    """It passes in one run of all: for want of budget there is no answer yet, and that is said."""
    store = project / "flaky"
    done = orchestrator(
        "run", "few.yaml", "--search", "adaptive", "--issue", "unsteady", "-k", "tinylib<1.14",
        "--budget", "7cells", "--store", str(store), "--jobs", "2", "--report", "text",
        "--report", f"json:{store}.json", cwd=project,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    report = report_of(Path(f"{store}.json"))
    (evidence,) = report["evidence"]
    assert sum(one["good"] for one in evidence["runs"].values()) == 1
    assert evidence["belief"]["flaky"] is True
    assert evidence["belief"]["probability"] < 0.95
    assert report["search"]["open"] == ["unsteady in tiny"]
    flat = " ".join(done.stdout.split())
    assert re.search(r"flaky at 1\.1[23] \(\d of \d runs failed\): estimated to fail in \S+% of runs", flat)
