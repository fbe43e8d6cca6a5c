"""Options that several commands share."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.matrix import Selection
from orchestrator.report import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orchestrator.adaptive import Search
    from orchestrator.pinpoint.prior import Noise

matrix_argument = click.argument("matrix", type=click.Path(path_type=Path), default="matrix.yaml")

cell_argument = click.argument("target", nargs=-1, required=True, metavar="[MATRIX] CELL")

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=".orchestrator",
    show_default=True,
    help="Where results, locks and caches are kept.",
)

_SELECTION = (
    click.option("-s", "--select", "globs", multiple=True, metavar="GLOB", help="Only cells whose id matches."),
    click.option("--skip", multiple=True, metavar="GLOB", help="Not the cells whose id matches."),
    click.option(
        "-k", "expression", metavar="EXPR", help="Only cells that meet an expression: 'torch>=2.2 and not xla'."
    ),
    click.option("--only", multiple=True, metavar="ID", help="Only this cell."),
    click.option("--issue", "issues", multiple=True, metavar="ID", help="Only this issue and the cells it needs."),
    click.option("--stack", "stacks", multiple=True, metavar="NAME", help="Only this stack."),
)


_RUNTIME = (
    click.option(
        "--runtime",
        type=click.Choice(["auto", "docker", "venv"]),
        default="auto",
        show_default=True,
        help="Containers, or virtual environments on this host; auto: containers if an engine answers.",
    ),
    click.option(
        "--builder",
        type=click.Choice(["auto", "classic", "buildkit"]),
        default="auto",
        show_default=True,
        help="How images are built; auto: what works on this engine.",
    ),
)

jobs_option = click.option(
    "-j", "--jobs", default="auto", metavar="N", help="How much to do at once; auto: one per CPU."
)
refresh_option = click.option("--refresh", is_flag=True, help="Ask the indexes again and resolve every cell anew.")
report_option = click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT[:FILE]",
    help=f"{', '.join(FORMATS)}; to standard output or to a file. May be repeated; default: text.",
)
color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True
)
format_option = click.option(
    "--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True
)


def runtime_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose a runtime; `cli.workshop` reads them."""
    for option in reversed(_RUNTIME):
        function = option(function)
    return function


def cell_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every command takes that locks cells: the matrix, a selection, the runtime, and the store."""
    for option in (store_option, refresh_option, runtime_options, selection_options, matrix_argument):
        function = option(function)
    return function


_SEARCH = (
    click.option(
        "--confidence",
        type=click.FloatRange(0.5, 0.999),
        default=0.95,
        show_default=True,
        help="The probability at which an issue counts as answered.",
    ),
    click.option(
        "--confirm",
        type=click.IntRange(0, 20),
        default=1,
        show_default=True,
        metavar="N",
        help="How often both sides of a change are run again before it is announced.",
    ),
    click.option("--budget", metavar="20cells|2h", help="End the search after so many runs, or so long."),
    click.option(
        "--flakes",
        default="unknown",
        show_default=True,
        metavar="unknown|none|RATE",
        help="How often probes lie, if that is known: never, or at a rate like 5%. Unknown costs more runs.",
    ),
)


def search_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a search; `search_of` reads them."""
    for option in reversed(_SEARCH):
        function = option(function)
    return function


def search_of(given: dict[str, Any], **more: Any) -> Search:  # noqa: ANN401 - fields of a search
    """Return the search that a command's parameters ask for.

    Raises:
        click.BadParameter: a value is not what the option takes.
    """
    from orchestrator.adaptive import Budget, Search  # noqa: PLC0415
    from orchestrator.config.quantities import seconds  # noqa: PLC0415
    from orchestrator.pinpoint.prior import Prior  # noqa: PLC0415
    from orchestrator.search.choose import Goal  # noqa: PLC0415

    budget = Budget()
    if (text := given["budget"]) is not None:
        number, _, unit = text.partition("cell")
        try:
            if number.isascii() and number.isdigit() and unit in ("", "s") and int(number) and "cell" in text:
                budget = Budget(runs=int(number))
            else:
                budget = Budget(seconds=seconds(text))
        except ValueError:
            raise click.BadParameter(
                f"{text!r} is neither a number of cells like 20cells nor a duration like 2h", param_hint="--budget"
            ) from None
    if math.isnan(given["confidence"]):  # which no range keeps out
        raise click.BadParameter("'nan' is no probability", param_hint="--confidence")
    goal = Goal(confidence=given["confidence"], confirm=given["confirm"])
    return Search(goal=goal, budget=budget, prior=Prior(noise=_noise(given["flakes"])), **more)


def _noise(text: str) -> tuple[Noise, ...]:
    """Return what `--flakes` says of how often probes lie.

    Raises:
        click.BadParameter: it is neither a word nor a rate.
    """
    from orchestrator.pinpoint.prior import STEADY, UNKNOWN, Noise  # noqa: PLC0415

    if text in ("unknown", "none"):
        return UNKNOWN if text == "unknown" else STEADY
    try:
        rate = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        rate = -1.0
    if not 0 < rate < 0.45:  # noqa: PLR2004 - at one half a run tells nothing
        raise click.BadParameter(
            f"{text!r} is neither 'unknown' nor 'none' nor a rate between 0 and 45%", param_hint="--flakes"
        )
    return (Noise(false_fail=rate, false_pass=rate),)


def matrix_and_cell(target: Sequence[str]) -> tuple[Path, str]:
    """Return what `cell_argument` was given: the path of a matrix, by default matrix.yaml, and the id of a cell.

    Raises:
        click.UsageError: it was given more.
    """
    *files, name = target
    if len(files) > 1:
        raise click.UsageError("expected [MATRIX] CELL")
    return Path(files[0] if files else "matrix.yaml"), name


def width_of(text: str) -> int:
    """Return how much to do at once, from the value of `--jobs`.

    Raises:
        click.BadParameter: it is no number from 1 to 256.
    """
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 256:  # noqa: PLR2004
        raise click.BadParameter(f"{text!r} is neither 'auto' nor a number from 1 to 256", param_hint="--jobs")
    return int(text)


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the selection options to a command; `selection_of` reads them."""
    for option in reversed(_SELECTION):
        function = option(function)
    return function


def selection_of(given: dict[str, Any]) -> Selection:
    """Return the selection in a command's parameters."""
    return Selection(
        globs=given["globs"],
        skip=given["skip"],
        expression=given["expression"],
        only=given["only"],
        issues=given["issues"],
        stacks=given["stacks"],
    )
