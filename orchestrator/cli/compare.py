"""`orchestrator compare`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import color_option, store_option
from orchestrator.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.model import Comparison

FORMAT = 1


@click.command()
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
)
@store_option
@color_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Say what is newly affected or fixed in run NEW, and what cannot be compared with run OLD.

    A run is a name from the store's `runs`, or the path of such a file. NEW is the last run unless it is given,
    and OLD the one before NEW. Exits with 1 where something is newly affected.
    """
    from orchestrator.cli.console import consoles  # noqa: PLC0415
    from orchestrator.cli.reporting import styler, width_of_terminal  # noqa: PLC0415
    from orchestrator.model import News  # noqa: PLC0415
    from orchestrator.pinpoint import compare  # noqa: PLC0415
    from orchestrator.report import news  # noqa: PLC0415
    from orchestrator.report.clean import cleaned  # noqa: PLC0415
    from orchestrator.report.contract import comparison  # noqa: PLC0415
    from orchestrator.runs import recorded  # noqa: PLC0415

    root = given["store"].absolute()
    old, new = _which(root, given["old"], given["new"])
    compared: Comparison = cleaned(compare(recorded(root, old), recorded(root, new)))
    if given["format_"] == "json":
        document = {"format": FORMAT, **comparison(compared)}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
    elif given["format_"] == "markdown":
        click.echo(news.markdown(compared), nl=False)
    else:
        out, _ = consoles(given["color"])
        click.echo(news.text(compared, width_of_terminal(out), styler(out)), nl=False, color=True)
    worse = any(one.kind is News.AFFECTED for one in compared.differences)
    click.get_current_context().exit(ExitCode.FINDINGS if worse else ExitCode.OK)


def _which(root: Path, old: str | None, new: str | None) -> tuple[str, str]:
    """Return the two runs that are meant.

    Raises:
        ConfigError: there is no run before the new one.
    """
    from orchestrator.runs import names  # noqa: PLC0415

    if old is not None and new is not None:
        return old, new
    known = names(root)
    if old is not None and known:
        return old, known[-1]
    if len(known) < 2:  # noqa: PLR2004 - a pair
        there = f"only the run {known[0]}" if known else "no run"
        raise ConfigError(
            f"there is {there} in {root}", hint="two are needed: OLD and NEW, or two runs in --store"
        )
    return known[-2], known[-1]
