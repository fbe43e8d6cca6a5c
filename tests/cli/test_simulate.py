from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.simulate import command
from orchestrator.errors import ConfigError

ROOT = Path(__file__).parents[2]
SMALL = ("--versions", "12", "--issues", "3", "--trials", "3")


def simulated(*arguments):
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def results(*arguments):
    document = json.loads(simulated(*arguments, "--format", "json"))
    assert document["format"] == 1
    return {one["strategy"]: one for one in document["results"]}


def test_the_table_has_every_search():
    shown = simulated(*SMALL)
    for word in (
        "exhaustive x5",
        "bisection, alone",
        "majority of 5",
        "this search at 95%",
        "3 searches, 9 histories",
    ):
        assert word in shown


def test_json_has_the_figures():
    found = results(*SMALL, "--confidence", "0.9")
    assert found["exhaustive"]["accuracy"] == 1.0
    assert found["exhaustive"]["runs"] == 12
    assert found["exhaustive x5"]["runs"] == 60
    assert found["this search at 90%"]["confidence"] == 0.9


def test_equal_seeds_give_equal_figures_and_others_differ():
    one, same, other = (simulated(*SMALL, "--flakes", "0.1", "--seed", seed) for seed in ("5", "5", "6"))
    assert one == same != other


def test_flakes_cost_accuracy_or_runs():
    quiet, flaky = results(*SMALL), results(*SMALL, "--flakes", "0.2")
    assert flaky["exhaustive"]["accuracy"] < quiet["exhaustive"]["accuracy"]
    assert flaky["this search at 95%"]["runs"] > quiet["this search at 95%"]["runs"]


def test_a_report_is_searched_again():
    golden = ROOT / "tests" / "report" / "golden" / "report.json"
    found = results("--replay", str(golden), "--trials", "1")
    assert found["exhaustive"]["accuracy"] == 1.0
    assert found["this search at 95%"]["runs"] > 0


@pytest.mark.parametrize("weights", ["", "a,b", "-1,2", "0,0", "inf", "nan,1"])
def test_weights_have_to_be_weights(weights):
    done = CliRunner().invoke(command, ["--transitions", weights])
    assert done.exit_code == 2
    assert "is no list of weights" in done.output


@pytest.mark.parametrize("text", [None, "{", "[]", "{}"])
def test_what_is_no_report_is_refused(tmp_path, text):
    file = tmp_path / "report.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        CliRunner().invoke(command, ["--replay", str(file)], catch_exceptions=False)
