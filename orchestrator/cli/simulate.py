"""`orchestrator simulate`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.simulation import Strategy, Summary

_MAJORITY = 5


@click.command()
@click.option("--versions", type=click.IntRange(2, 1000), default=64, show_default=True, help="How many versions.")
@click.option("--issues", type=click.IntRange(1, 200), default=10, show_default=True, help="How many issues.")
@click.option(
    "--transitions",
    default="0.30,0.46,0.16,0.08",
    show_default=True,
    metavar="W0,W1,...",
    help="How likely an issue changes its state never, once, twice...",
)
@click.option(
    "--flakes",
    type=click.FloatRange(0, 0.4),
    default=0.0,
    show_default=True,
    help="How often a probe lies: fails on a good version, passes on a bad one.",
)
@click.option("--replay", type=click.Path(dir_okay=False, path_type=Path), help="Search a JSON report again.")
@click.option(
    "--trials", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many searches."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Equal seeds, equal figures.")
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="How sure an answer of this search has to be.",
)
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Try searches where the truth is known: random histories, or what a run has measured.

    Histories of issues along versions are drawn at random, or read from the report of a run in which all was
    measured (`--replay`; the issues and versions are then those of the report). Each way to search meets the same
    ones. Every trial is one search for all issues together.
    """
    from orchestrator.simulation import summary  # noqa: PLC0415

    played = [summary(strategy, scores) for strategy, scores in _scores(given)]
    if given["format_"] == "json":
        click.echo(json.dumps({"format": 1, "results": [asdict(one) for one in played]}, indent=2))
        return
    click.echo(_table(played))


def _scores(given: dict[str, Any]) -> list[tuple[Strategy, Any]]:
    from orchestrator.simulation import Setting, play, replay, worlds  # noqa: PLC0415

    seeds = range(given["seed"], given["seed"] + given["trials"])
    flakes = given["flakes"]
    strategies = _strategies(given["confidence"])
    if given["replay"] is not None:
        recorded = worlds(_report(given["replay"]), false_fail=flakes, false_pass=flakes)
        return [(strategy, replay(strategy, recorded, seeds)) for strategy in strategies]
    setting = Setting(
        versions=given["versions"],
        issues=given["issues"],
        transitions=_weights(given["transitions"]),
        false_fail=flakes,
        false_pass=flakes,
    )
    return [(strategy, play(strategy, setting, seeds)) for strategy in strategies]


def _strategies(confidence: float) -> tuple[Strategy, ...]:
    from orchestrator.search.choose import Goal  # noqa: PLC0415
    from orchestrator.simulation import Adaptive, Bisection, Exhaustive  # noqa: PLC0415

    return (
        Exhaustive(),
        Exhaustive(_MAJORITY),
        Bisection(shared=False),
        Bisection(),
        Bisection(_MAJORITY),
        Adaptive(goal=Goal(confidence=confidence)),
    )


def _weights(text: str) -> tuple[float, ...]:
    try:
        weights = tuple(float(word) for word in text.split(","))
    except ValueError:
        weights = ()
    if not weights or min(weights) < 0 or not 0 < sum(weights) < float("inf"):
        raise click.BadParameter(
            f"{text!r} is no list of weights: 0.3,0.5,0.2 is for 0, 1 or 2 transitions", param_hint="--transitions"
        )
    return weights


def _report(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: this is no report")
    return document


def _table(played: Sequence[Summary]) -> str:
    from tabulate import tabulate  # noqa: PLC0415

    rows = [
        [
            one.strategy,
            f"{one.accuracy:.3f}",
            "{:.3f} to {:.3f}".format(*one.accuracy_interval),
            f"{one.runs:.1f}",
            "" if one.calibration is None else f"{one.calibration:.3f}",
            f"{one.abstained:.1%}",
        ]
        for one in played
    ]
    headers = ["search", "accuracy", "95% interval", "cell runs", "of its answers right", "abstained"]
    trials = f"{played[0].trials} {'search' if played[0].trials == 1 else 'searches'}"
    accuracy = "accuracy: issues whose states are right at every version that can be tested"
    align = ("left", "right", "right", "right", "right", "right")
    table = tabulate(rows, headers=headers, disable_numparse=True, colalign=align)
    return f"{table}\n\n{trials}, {played[0].issues} histories; {accuracy}; cell runs: mean of a search"
