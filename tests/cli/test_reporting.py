import dataclasses

import click
import pytest

from builders import axis, issue, matrix, stack
from orchestrator.cli.reporting import exit_code, parse_reports, write_reports
from orchestrator.errors import EnvironmentUnusableError, ExitCode
from orchestrator.matrix import expand
from orchestrator.model import Judgement, Outcome, Provenance, Searched, State
from orchestrator.pinpoint import Measured, answer


def report(*outcomes, expect=None, searched=None):
    asked = matrix(
        stack("s", axis("torch", *[f"2.{n}" for n in range(len(outcomes))])),
        issues=(issue("dot", {"s": "torch"}, expect=expect),),
    )
    measured = [
        Measured(cell=cell, judgements={"dot": Judgement(outcome=outcome, verdict=outcome.verdict)})
        for cell, outcome in zip(expand(asked), outcomes, strict=True)
    ]
    return answer(asked, measured, Provenance(tool="t", matrix="m"), searched=searched)


@pytest.mark.parametrize(
    ("outcomes", "expect", "code"),
    [
        ([Outcome.FAIL, Outcome.PASS], None, ExitCode.OK),
        ([Outcome.FAIL, Outcome.FAIL], None, ExitCode.OK),
        ([Outcome.PASS, Outcome.FAIL], None, ExitCode.FINDINGS),
        ([Outcome.FAIL], State.AFFECTED, ExitCode.OK),
        ([Outcome.PASS], State.AFFECTED, ExitCode.OK),  # news
        ([Outcome.PASS, Outcome.INFRA], State.AFFECTED, ExitCode.INCOMPLETE),
        ([Outcome.CRASH], State.OK, ExitCode.FINDINGS),
        ([Outcome.PASS, Outcome.BUILD_FAILED], State.OK, ExitCode.INCOMPLETE),
        ([Outcome.PASS, Outcome.INFRA], State.OK, ExitCode.INCOMPLETE),
        ([Outcome.PASS, Outcome.NOT_RUN], State.OK, ExitCode.INCOMPLETE),
        ([Outcome.PASS, Outcome.FAIL, Outcome.INFRA], State.OK, ExitCode.FINDINGS),
        ([Outcome.PASS, Outcome.NO_DEVICE], State.OK, ExitCode.OK),
        ([Outcome.PASS, Outcome.UNRESOLVABLE, Outcome.INCOMPATIBLE, Outcome.ABSENT], State.OK, ExitCode.OK),
    ],
)
def test_the_exit_code_of_a_report(outcomes, expect, code):
    assert exit_code(report(*outcomes, expect=expect)) is code


@pytest.mark.parametrize(
    ("outcomes", "unanswered", "code"),
    [
        ([Outcome.FAIL, Outcome.NOT_RUN, Outcome.PASS], (), ExitCode.OK),
        ([Outcome.FAIL, Outcome.NOT_RUN, Outcome.PASS], ("dot in s",), ExitCode.INCOMPLETE),
        ([Outcome.PASS, Outcome.PASS], ("dot in s",), ExitCode.INCOMPLETE),
        ([Outcome.FAIL, Outcome.INFRA, Outcome.PASS], (), ExitCode.INCOMPLETE),
        ([Outcome.FAIL, Outcome.BUILD_FAILED, Outcome.PASS], (), ExitCode.INCOMPLETE),
        ([Outcome.FAIL, Outcome.UNRESOLVABLE, Outcome.PASS], (), ExitCode.OK),
        ([Outcome.PASS, Outcome.NOT_RUN, Outcome.FAIL], (), ExitCode.FINDINGS),
        ([Outcome.PASS, Outcome.NOT_RUN, Outcome.FAIL], ("dot in s",), ExitCode.FINDINGS),
    ],
)
def test_the_exit_code_of_a_search(outcomes, unanswered, code):
    searched = Searched(runs=2, cells=2, of=3, confidence=0.95, open=unanswered)
    assert exit_code(report(*outcomes, searched=searched)) is code


def test_reports_go_where_they_are_sent(tmp_path, capsys):
    from rich.console import Console

    wanted = parse_reports([f"json:{tmp_path / 'a.json'}", "markdown"])
    write_reports(report(Outcome.PASS), wanted, Console())
    assert (tmp_path / "a.json").read_text(encoding="utf-8").startswith("{")
    assert "| issue" in capsys.readouterr().out


def test_text_is_the_default():
    assert [dataclasses.astuple(one) for one in parse_reports([])] == [("text", None)]


def test_a_format_that_does_not_exist_is_named():
    with pytest.raises(click.BadParameter, match="'yaml' is not one of text, markdown, html, json, junit"):
        parse_reports(["yaml"])


def test_a_place_that_cannot_be_written_is_one_error_and_leaves_the_old_file(tmp_path):
    from rich.console import Console

    (tmp_path / "file").write_text("old", encoding="utf-8")
    wanted = parse_reports([f"json:{tmp_path / 'file' / 'a.json'}"])
    with pytest.raises(EnvironmentUnusableError, match="cannot write"):
        write_reports(report(Outcome.PASS), wanted, Console())
    assert (tmp_path / "file").read_text(encoding="utf-8") == "old"


def test_a_job_summary_is_added_to(tmp_path, monkeypatch, capsys):
    from rich.console import Console

    summary = tmp_path / "summary.md"
    summary.write_text("another step\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    wanted = parse_reports(["github"])
    write_reports(report(Outcome.PASS, Outcome.FAIL), wanted, Console())
    assert capsys.readouterr().out.startswith("::error ")
    first = summary.read_text(encoding="utf-8")
    assert first.startswith("another step\n| issue")
    write_reports(report(Outcome.PASS, Outcome.FAIL), wanted, Console())
    assert summary.read_text(encoding="utf-8") == first + first.removeprefix("another step\n")
    write_reports(report(Outcome.PASS), parse_reports(["text"]), Console())
    assert summary.read_text(encoding="utf-8").count("| issue") == 2


def test_a_job_summary_that_cannot_be_written(tmp_path, monkeypatch):
    from rich.console import Console

    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    with pytest.raises(EnvironmentUnusableError, match="cannot write the job's summary"):
        write_reports(report(Outcome.PASS), parse_reports(["github"]), Console())
