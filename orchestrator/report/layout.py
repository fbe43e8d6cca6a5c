"""Tables and paragraphs on a terminal of a given width."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tabulate import MIN_PADDING, tabulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# A character that takes two columns is followed by this while widths are counted, by len() here and in
# tabulate; clean text has no such character.
_SECOND_COLUMN = "\x00"
BLANK = "\x01"
"""A blank that tabulate does not strip."""

GAP = 2
"""Columns between two columns of a table."""

_NARROWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What stands in a table, and the role that its style follows."""

    text: str
    role: str = "text"


def measured(text: str) -> str:
    """Return text whose len() is its width on a terminal; `finished` gives the text back."""
    if text.isascii():
        return text
    return "".join(c + _SECOND_COLUMN if unicodedata.east_asian_width(c) in "WF" else c for c in text)


def finished(block: str) -> str:
    """Return a laid out block as it is printed."""
    block = block.replace(_SECOND_COLUMN, "").replace(BLANK, " ")
    return "\n".join(_inert(line.rstrip()) for line in block.splitlines())


def _inert(line: str) -> str:
    # GitHub Actions takes a line that begins so for a command, and a probe may have made it up.
    start = len(line) - len(line.lstrip())
    return f"{line[:start]}: :{line[start + 2 :]}" if line.startswith("::", start) else line


def wrapped(text: str, width: int) -> list[str]:
    """Return text as lines of at most `width` columns, words broken only where they are wider."""
    return textwrap.wrap(measured(text), max(width, 1), break_on_hyphens=False) or [""]


def paragraph(text: str, width: int, *, first: str = "", rest: str = "") -> str:
    """Return text wrapped behind a first and a hanging indent."""
    lines = wrapped(text, width - max(len(first), len(rest)))
    return "\n".join((rest if number else first) + line for number, line in enumerate(lines))


def table(
    headers: Sequence[str], rows: Sequence[Sequence[Text]], width: int, style: Callable[[str, str], str]
) -> str:
    """Return a table of at least one row that fits the width, its widest columns wrapped."""
    columns = list(zip(*([measured(cell.text) for cell in row] for row in rows), strict=True))
    # tabulate leaves this much room around a header.
    titles = [len(measured(header)) + MIN_PADDING for header in headers]
    natural = [max(title, *map(len, column)) for title, column in zip(titles, columns, strict=True)]
    floors = [max(title, *map(_longest_word, column)) for title, column in zip(titles, columns, strict=True)]
    limits = _shrunk(natural, floors, width - GAP * (len(headers) - 1))
    body = [
        [
            "\n".join(style(cell.role, line) for line in wrapped(cell.text, limit))
            for cell, limit in zip(row, limits, strict=True)
        ]
        for row in rows
    ]
    styled = [style("heading", header) for header in headers]
    return tabulate(body, headers=styled, tablefmt="simple", disable_numparse=True)


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _shrunk(natural: Sequence[int], floors: Sequence[int], total: int) -> list[int]:
    """Take from the widest columns until the sum fits: spaces first, then within words."""
    widths = list(natural)
    for lowest in (floors, [_NARROWEST] * len(widths)):
        while sum(widths) > total:
            spare = [column for column, width in enumerate(widths) if width > lowest[column]]
            if not spare:
                break
            widths[max(spare, key=widths.__getitem__)] -= 1
    return widths
