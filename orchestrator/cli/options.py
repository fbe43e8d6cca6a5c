"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.matrix import Selection

if TYPE_CHECKING:
    from collections.abc import Callable

matrix_argument = click.argument("matrix", type=click.Path(path_type=Path), default="matrix.yaml")

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
