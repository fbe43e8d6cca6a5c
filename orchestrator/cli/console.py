"""The two consoles: standard output for data, standard error for everything else."""

from __future__ import annotations

import os

from rich.console import Console


def consoles(color: str) -> tuple[Console, Console]:
    """Return (out, err), coloured as the option says, then NO_COLOR, FORCE_COLOR, a terminal, GitHub Actions."""
    return _console(color, stderr=False), _console(color, stderr=True)


def _console(color: str, *, stderr: bool) -> Console:
    forced: bool | None = None
    no_color: bool | None = None
    if color == "always":
        forced, no_color = True, False
    elif color == "never" or os.environ.get("NO_COLOR"):
        no_color = True
    elif os.environ.get("FORCE_COLOR"):
        forced = True
    console = Console(
        stderr=stderr, force_terminal=forced, no_color=no_color, highlight=False, markup=False, emoji=False
    )
    if no_color is None and not stderr and os.environ.get("GITHUB_ACTIONS") == "true":
        # Actions shows colours but is no terminal; the board on stderr stays the one for logs.
        return Console(force_terminal=True, highlight=False, markup=False, emoji=False)
    return console
