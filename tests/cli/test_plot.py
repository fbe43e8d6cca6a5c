from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from builders import axis, issue, matrix, stack
from orchestrator.cli.plot import command
from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.matrix import expand
from orchestrator.model import Judgement, Outcome, Provenance, Threshold, Verdict
from orchestrator.pinpoint import Measured, answer
from orchestrator.runs import names, save


def judged(version, **metrics):
    bad = version < "2.1"
    return Judgement(
        outcome=Outcome.FAIL if bad else Outcome.PASS,
        verdict=Verdict.BAD if bad else Verdict.GOOD,
        metrics={name: value if bad else value / 1e6 for name, value in metrics.items()},
    )


@pytest.fixture
def report():
    asked = matrix(
        stack("s", axis("torch", "2.0.1", "2.1.0", "2.2.0")),
        issues=(
            issue("no-grad", {"s": "torch"}, threshold=Threshold(metric="mae", above=1e-4)),
            issue("amp", {"s": "torch"}),
            issue("silent", {"s": "torch"}),
        ),
    )
    measured = [
        Measured(
            cell=cell,
            judgements={
                "no-grad": judged(str(cell.versions["torch"]), mae=1.4759, **{"../x/y": 1.0, ".._x_y": 2.0}),
                "amp": judged(str(cell.versions["torch"]), ratio=2.0),
                "silent": judged(str(cell.versions["torch"])),
            },
        )
        for cell in expand(asked)
    ]
    return answer(asked, measured, Provenance(tool="t", matrix="m"))


@pytest.fixture
def plotted(tmp_path, monkeypatch, report):
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "store"
    save(store, report)

    def run(*arguments):
        done = CliRunner().invoke(
            command, [*arguments, "--store", str(store)], catch_exceptions=False, standalone_mode=False
        )
        return done.output.splitlines()

    return run


def test_every_metric_of_an_issue_is_a_file_of_its_own(plotted):
    written = plotted("no-grad", "-o", "out")
    # The metric that decides comes first; names that would leave the directory or collide do neither.
    assert written == ["out/no-grad-s-mae.svg", "out/no-grad-s-.._x_y.svg", "out/no-grad-s-.._x_y-2.svg"]
    assert sorted(path.name for path in Path("out").iterdir()) == sorted(Path(path).name for path in written)
    drawn = Path(written[0]).read_text(encoding="utf-8")
    assert drawn.startswith("<svg ")
    for word in ("2.0.1", "0.0001", "fixed"):
        assert f">{word}</text>" in drawn


def test_without_an_issue_all_are_plotted_into_this_directory(plotted):
    assert plotted() == ["no-grad-s-mae.svg", "no-grad-s-.._x_y.svg", "no-grad-s-.._x_y-2.svg", "amp-s-ratio.svg"]


def test_the_suffix_is_the_format(plotted):
    assert plotted("no-grad", "--metric", "mae", "-o", "new/a.png") == ["new/a.png"]
    assert Path("new/a.png").read_bytes().startswith(b"\x89PNG")
    assert plotted("amp", "-o", "a.SVG") == ["a.SVG"]
    assert Path("a.SVG").read_text(encoding="utf-8").startswith("<svg ")


def test_the_format_can_be_asked_for(plotted):
    (written,) = plotted("amp", "--format", "png")
    assert written == "amp-s-ratio.png"
    assert Path(written).read_bytes().startswith(b"\x89PNG")


def test_a_directory_may_look_like_a_file(plotted):
    Path("runs.svg").mkdir()
    assert plotted("amp", "-o", "runs.svg") == ["runs.svg/amp-s-ratio.svg"]


def test_an_earlier_run_can_be_plotted(plotted, report, tmp_path):
    earlier = replace(report, series=tuple(one for one in report.series if one.issue == "amp"))
    save(tmp_path / "store", earlier)
    save(tmp_path / "store", report)
    assert plotted("--run", names(tmp_path / "store")[1]) == ["amp-s-ratio.svg"]


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["no-gard"], "there is no issue 'no-gard'", "did you mean 'no-grad'?"),
        (["amp", "--metric", "ratoi"], "there is no metric 'ratoi'", "did you mean 'ratio'?"),
        (["amp", "--metric", "zzz"], "there is no metric 'zzz'", "there are ratio"),
        (["amp", "--stack", "t"], "there is no stack 't'", "there are s"),
        (["silent"], "the probes of issue 'silent' recorded no number", "record_property"),
        (["-o", "a.svg"], "a.svg is one file, and there are 4 plots", "name a directory"),
        (["--run", "yesterday"], "there is no run 'yesterday'", "the last ones"),
    ],
)
def test_a_mistake_says_what_there_is(plotted, arguments, said, hint):
    with pytest.raises(ConfigError, match=said) as error:
        plotted(*arguments)
    assert hint in (error.value.hint or "")
    assert [path.name for path in Path().iterdir()] == ["store"]


@pytest.mark.parametrize("arguments", [["-o", "a.pdf"], ["-o", "a.svg", "--format", "png"]])
def test_a_name_of_another_format_is_refused(plotted, arguments):
    with pytest.raises(click.BadParameter, match=r"'a\."):
        plotted("amp", *arguments)


def test_without_matplotlib_the_extra_is_named(plotted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match="matplotlib") as error:
        plotted("amp")
    assert error.value.hint == "pip install 'matrix-orchestrator[plot]'"


def test_a_place_that_cannot_be_written_is_one_error(plotted):
    Path("file").write_text("old", encoding="utf-8")
    with pytest.raises(EnvironmentUnusableError, match="cannot write"):
        plotted("amp", "-o", "file/a.svg")
    assert Path("file").read_text(encoding="utf-8") == "old"
