"""`orchestrator bisect`."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import (
    color_option,
    jobs_option,
    refresh_option,
    report_option,
    runtime_options,
    search_of,
    search_options,
    store_option,
    width_of,
)
from orchestrator.errors import ExitCode, InterruptedRunError

if TYPE_CHECKING:
    from orchestrator.versions import Version


class _VersionType(click.ParamType["Version"]):
    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Version:  # noqa: ANN401
        from orchestrator.versions import parse_version  # noqa: PLC0415

        try:
            return parse_version(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.argument("issue")
@click.argument("matrix", type=click.Path(path_type=Path), default="matrix.yaml")
@click.option("--stack", metavar="NAME", help="Where to look, if the issue is followed in several stacks.")
@click.option("-k", "expression", metavar="EXPR", help="Only cells that meet an expression: 'python==3.11'.")
@click.option("--good", type=_VersionType(), metavar="V", help="A version that is known to be good.")
@click.option("--bad", type=_VersionType(), metavar="V", help="A version that is known to be bad.")
@click.option("--find-fix", is_flag=True, help="Find where it was fixed, not where it was introduced.")
@click.option("--nightlies", is_flag=True, help="Go on with the nightly builds between the two releases.")
@click.option(
    "--commits/--no-commits",
    default=True,
    show_default=True,
    help="Go on with the commits between the two releases, where the matrix says where they are.",
)
@search_options
@runtime_options
@jobs_option
@refresh_option
@store_option
@report_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Find the release, nightly or commit that introduced (or fixed) ISSUE of MATRIX, and the package it takes.

    One change is assumed; `run --search adaptive` assumes nothing. Versions that are given are believed, not run.
    """
    from orchestrator.bisect import Question, bisect, sentence  # noqa: PLC0415
    from orchestrator.cli.board import board  # noqa: PLC0415
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import parse_reports, write_reports  # noqa: PLC0415
    from orchestrator.cli.workshop import open_workshop, stopped_by_signals  # noqa: PLC0415
    from orchestrator.config import load  # noqa: PLC0415
    from orchestrator.matrix import Selection  # noqa: PLC0415
    from orchestrator.measure import Options  # noqa: PLC0415
    from orchestrator.runs import save  # noqa: PLC0415

    width = width_of(given["jobs"])
    reports = parse_reports(given["reports"])
    search = search_of(given)
    search = replace(search, prior=replace(search.prior, single=True))
    matrix = load(given["matrix"])
    out, err = consoles(given["color"])
    cancel = threading.Event()
    selection = Selection(
        issues=(given["issue"],),
        stacks=(given["stack"],) if given["stack"] else (),
        expression=given["expression"],
    )
    question = Question(
        issue=given["issue"],
        good=given["good"],
        bad=given["bad"],
        find_fix=given["find_fix"],
        nightlies=given["nightlies"],
        commits=given["commits"],
    )
    with (
        board(err, width) as observer,
        stopped_by_signals(cancel),
        open_workshop(given, matrix, observer, cancel) as shop,
    ):
        report = bisect(shop, Options(selection=selection, width=width), search, question)
    report = save(shop.store.root, report)
    write_reports(report, reports, out)
    click.echo(sentence(report, question), err=True)
    if cancel.is_set():
        raise InterruptedRunError(
            "interrupted", hint="what was measured is kept; the same command goes on from there"
        )
    unanswered = report.searched is not None and report.searched.open
    click.get_current_context().exit(ExitCode.INCOMPLETE if unanswered else ExitCode.OK)
