"""The cells behind the points of a page, column by column: far smaller than one object each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orchestrator.report import words
from orchestrator.report.clean import shorten
from orchestrator.report.html.interned import Interned, front_coded, runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import CellRow, Moved, Origin
    from orchestrator.report.html.layout import Layout

DIGEST = 12
"""Characters of a lock's digest that are shown; no two locks of a store agree in as many."""

MOVED = 60
"""How many of the distributions that differ from a neighbour are listed; the others are counted."""


class CellColumns:
    """Cells of a page by number, in the order of their ids."""

    def __init__(self, layout: Layout) -> None:
        shown = {point.cell for row in layout.rows for point in row.group.shown.points}
        self._ids = sorted(shown)
        self._numbers = {cell: number for number, cell in enumerate(self._ids)}
        self._rows = layout.cells
        self._moves: Interned[Moved] = Interned()
        self._moved: Interned[tuple[int, ...]] = Interned()

    def number(self, cell: str) -> int:
        """Return the number of a cell that a point of the page names."""
        return self._numbers[cell]

    def document(self, axes: Interned[str], text: Callable[[str | None], int]) -> dict[str, Any]:
        """Return all cells. `text` numbers texts; times are minutes since the first of them, `since` that one."""
        found = [self._rows.get(cell) for cell in self._ids]
        rows = [row for row in found if row is not None]
        settings: Interned[tuple[int, ...]] = Interned()
        since = min((_minute(row.origin) for row in rows if row.origin), default=0)
        packages = list(dict.fromkeys(name for row in rows for name in row.versions))
        return {
            "ids": front_coded(self._ids),
            "packages": [_cut(name) for name in packages],
            "versions": [runs(text(row.versions.get(name)) if row else 0 for row in found) for name in packages],
            "python": runs(text(row.python if row else None) for row in found),
            "reason": {str(n): text(row.reason) for n, row in enumerate(found) if row and row.reason},
            "digest": DIGEST,
            "lock": "".join(_digest(row.lock if row else None) for row in found),
            "since": since,
            "started": [_minute(row.origin) - since if row and row.origin else -1 for row in found],
            "took": [round(row.origin.duration) if row and row.origin else 0 for row in found],
            "on": runs(settings.number(_setting(row.origin, text)) if row and row.origin else -1 for row in found),
            "settings": [list(one) for one in settings.values],
            "near": {name: self._near(name, found) for name in axes.values},
            "moves": [[_cut(told) for told in (one.name, one.before, one.after)] for one in self._moves.values],
            "moved": [list(one) for one in self._moved.values],
        }

    def _near(self, axis: str, rows: list[CellRow | None]) -> list[list[int]]:
        """Return of each cell how far back its neighbour is, the list of what moved, and how many are left out.

        The first is 0 where there is none. Far before is told because it is the same of most cells.
        """
        back, lists, more = [], [], []
        for number, row in enumerate(rows):
            neighbour = row.neighbours.get(axis) if row is not None else None
            other = self._numbers.get(neighbour.cell) if neighbour is not None else None
            moved = neighbour.moved if neighbour is not None and other is not None else ()
            back.append(0 if other is None else number - other)
            lists.append(self._moved.number(tuple(map(self._moves.number, moved[:MOVED]))))
            more.append(len(moved[MOVED:]))
        return [runs(back), runs(lists), runs(more)]


def _cut(text: str | None) -> str | None:
    return None if text is None else shorten(text, words.LONGEST)


def _digest(lock: str | None) -> str:
    """Return the beginning of a digest, always of the same length."""
    return (lock or "").removeprefix("sha256:")[:DIGEST].ljust(DIGEST)


def _minute(origin: Origin) -> int:
    return int(origin.started.timestamp()) // 60


def _setting(origin: Origin, text: Callable[[str | None], int]) -> tuple[int, ...]:
    """Number what many cells share: runtime, base, device, driver, system, firmware and the device's libraries."""
    on = origin.fingerprint
    told: list[str | None] = [origin.runtime, origin.base]
    if on is None:
        told += [None] * 5
    else:
        libraries = ", ".join(f"{name} {version}" for name, version in sorted(on.runtime.items()))
        told += [on.device, on.driver, on.system, on.firmware, libraries or None]
    return tuple(map(text, told))
