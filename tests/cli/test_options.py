"""The options of a search, as a command reads them."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from orchestrator.adaptive import Budget
from orchestrator.cli.options import search_of, search_options, width_of
from orchestrator.pinpoint.prior import STEADY, UNKNOWN, Noise, Prior

GIVEN = {"confidence": 0.95, "confirm": 1, "budget": None, "flakes": "unknown"}


@click.command()
@search_options
def command(**given):
    """Print what a search is asked to do."""
    search = search_of(given)
    click.echo(f"{search.goal.confidence} {search.goal.confirm} {search.budget.runs} {search.budget.seconds}")


def asked(*arguments):
    return CliRunner().invoke(command, arguments)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        (None, Budget()),
        ("20cells", Budget(runs=20)),
        ("1cell", Budget(runs=1)),
        ("1cells", Budget(runs=1)),
        ("20cell", Budget(runs=20)),
        ("2h", Budget(seconds=7200.0)),
        ("90s", Budget(seconds=90.0)),
        ("1.5m", Budget(seconds=90.0)),
    ],
)
def test_a_budget_is_a_number_of_cells_or_a_duration(text, budget):
    assert search_of({**GIVEN, "budget": text}).budget == budget


@pytest.mark.parametrize(
    "text",
    [
        "",
        "20",
        "0cells",
        "-1cells",
        "cells",
        "cell",
        "20 cells",
        "20cellss",
        "20cells2",
        "1.5cells",
        "²cells",
        "٣cells",
        "2d",
        "0s",
        "h",
        "-2h",
        "1e9h",
        "nonsense",
    ],
)
def test_any_other_budget_is_refused_with_examples(text):
    with pytest.raises(click.BadParameter, match="neither a number of cells like 20cells nor a duration like 2h"):
        search_of({**GIVEN, "budget": text})
    assert asked("--budget", text).exit_code == 2


def test_what_is_asked_for_when_nothing_is_said():
    done = asked()
    assert (done.exit_code, done.output) == (0, "0.95 1 None None\n")


def test_all_of_it_can_be_said():
    done = asked("--confidence", "0.99", "--confirm", "0", "--budget", "3cells")
    assert (done.exit_code, done.output) == (0, "0.99 0 3 None\n")


@pytest.mark.parametrize("confidence", ["0.5", "0.999"])
def test_a_confidence_within_reason(confidence):
    assert asked("--confidence", confidence).output == f"{confidence} 1 None None\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--confidence", "0.49"),
        ("--confidence", "1"),
        ("--confidence", "nan"),
        ("--confidence", "95%"),
        ("--confirm", "-1"),
        ("--confirm", "21"),
        ("--confirm", "once"),
    ],
)
def test_what_is_out_of_range_is_refused(arguments):
    done = asked(*arguments)
    assert done.exit_code == 2
    assert arguments[0] in done.output


def test_fields_of_a_search_can_be_given_besides():
    search = search_of(GIVEN, always=False)
    assert (search.always, search.prior, search.given) == (False, Prior(), {})


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("unknown", UNKNOWN),
        ("none", STEADY),
        ("5%", (Noise(false_fail=0.05, false_pass=0.05),)),
        ("0.05", (Noise(false_fail=0.05, false_pass=0.05),)),
        ("44%", (Noise(false_fail=0.44, false_pass=0.44),)),
    ],
)
def test_how_often_probes_lie_may_be_known(text, noise):
    assert search_of({**GIVEN, "flakes": text}).prior.noise == noise


@pytest.mark.parametrize("text", ["", "0", "0%", "-5%", "45%", "5", "1e-400", "nan", "inf", "often", "5%%", "%"])
def test_any_other_rate_of_flakes_is_refused(text):
    with pytest.raises(click.BadParameter, match="nor a rate between 0 and 45%"):
        search_of({**GIVEN, "flakes": text})


@pytest.mark.parametrize(("text", "width"), [("1", 1), ("256", 256)])
def test_a_width(text, width):
    assert width_of(text) == width
    assert width_of("auto") >= 1


@pytest.mark.parametrize("text", ["0", "257", "-1", "two", "²", ""])
def test_a_width_that_is_none(text):
    with pytest.raises(click.BadParameter, match="neither 'auto' nor a number from 1 to 256"):
        width_of(text)
