"""Excerpts of logs within a budget: of many thousand, those that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.report.clean import shorten
from orchestrator.report.html.interned import Interned

if TYPE_CHECKING:
    from collections.abc import Sequence

LINES = 30
"""Of one excerpt, the last ones."""

COLUMNS = 300
"""Of one line."""

BUDGET = 400_000
"""Characters of all excerpts together; equal lines count once."""

LEFT_OUT = -1
"""Stands for an excerpt that is beyond the budget."""


class Logs:
    """Excerpts by number, their lines shared."""

    def __init__(self) -> None:
        self._lines: Interned[str] = Interned()
        self._logs: Interned[tuple[int, ...]] = Interned()
        self._known: dict[tuple[str, ...], int] = {}
        self._room = BUDGET

    @property
    def lines(self) -> list[str]:
        """All lines."""
        return self._lines.values

    @property
    def logs(self) -> list[list[int]]:
        """All excerpts, as numbers of lines."""
        return [list(numbers) for numbers in self._logs.values]

    def number(self, log: Sequence[str]) -> int:
        """Return the number of an excerpt, or `LEFT_OUT`."""
        lines = tuple(shorten(line, COLUMNS) for line in log[-LINES:])
        if lines not in self._known:
            self._known[lines] = self._kept(lines)
        return self._known[lines]

    def _kept(self, lines: tuple[str, ...]) -> int:
        size = sum(map(len, lines))
        if size > self._room:
            return LEFT_OUT
        before = len(self._lines.values)
        numbers = tuple(map(self._lines.number, lines))
        self._room -= sum(map(len, self._lines.values[before:]))
        return self._logs.number(numbers)
