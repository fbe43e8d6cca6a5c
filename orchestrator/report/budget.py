"""Sections of Markdown within what a page may hold: the first rows of long ones, and no end that is half there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.report import words

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHARE = 4
"""A section takes at most this part of a budget that is too small for all."""

_NOTE = 32
"""Bytes for the line that says how many rows are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page; `rows` are lines that may be left out, the last ones first."""

    head: str = ""
    rows: tuple[str, ...] = ()
    tail: str = ""

    @property
    def text(self) -> str:
        """The section as a whole."""
        return self.head + "\n".join(self.rows) + self.tail

    def within(self, limit: int) -> str:
        """Return the section in at most `limit` bytes, with as many of its first rows as fit, or nothing.

        One without rows cannot be cut and comes back as it is.
        """
        if not self.rows or _size(self.text) <= limit:
            return self.text
        left = limit - _size(self.head) - _size(self.tail) - _NOTE
        kept = 0
        for row in self.rows:
            left -= _size(row) + 1
            if left < 0:
                break
            kept += 1
        if not kept:
            return ""
        missing = f"\n\n…{words.plural(len(self.rows) - kept, 'row')} more"
        return self.head + "\n".join(self.rows[:kept]) + missing + self.tail


def fitted(sections: Sequence[Section], budget: int, what: str) -> str:
    """Return sections as one page of at most `budget` bytes and a line that says what is missing.

    Where they do not fit, a section that is longer than a quarter of the budget is cut to its first rows; where
    that is not enough, what does not fit behind the sections before it is left out. `what` is "a summary", say.
    """
    texts = [section.text for section in sections]
    if sum(_size(text) + 2 for text in texts) > budget:
        texts = [section.within(budget // _SHARE) for section in sections]
    kept: list[str] = []
    left = budget
    for text in filter(None, texts):
        if _size(text) + 2 <= left:
            kept.append(text)
            left -= _size(text) + 2
    missing = len(texts) - len(kept)
    note = [f"…{words.plural(missing, 'section')} more than {what} can hold."] if missing else []
    return "\n\n".join([*kept, *note]) + "\n"


def _size(text: str) -> int:
    return len(text.encode())
