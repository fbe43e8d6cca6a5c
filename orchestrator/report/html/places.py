"""Where something is true, in few words: of two combinations both are named, of many how many they are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from orchestrator.pinpoint import Group
from orchestrator.report import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.report.html.layout import Layout, Numbered

NAMED = 3
"""Rows of a grid that are told by their combinations, at most."""


class Places:
    """The places of a page's series."""

    def __init__(self, layout: Layout) -> None:
        self._all = Counter((one.issue, one.stack, one.axis) for row in layout.rows for one in row.group.series)

    def where(self, rows: Sequence[Numbered]) -> str:
        """Return where rows of one issue along one axis are: "…, 23 of 500 combinations of python and numpy"."""
        together = Group(series=tuple(series for row in rows for series in row.group.series))
        shown = together.shown
        if len(rows) <= NAMED:
            return words.where(together)
        total = self._all[shown.issue, shown.stack, shown.axis]
        axes = words.conjunction(list(shown.fixed))
        return f"{shown.stack} / {shown.axis}, {len(together.series)} of {total} combinations of {axes}"
