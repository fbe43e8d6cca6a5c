"""Text that fits, in a font that may lack some of its characters."""

from __future__ import annotations

from functools import cache
from itertools import filterfalse

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import text_to_path

_FAMILY = "DejaVu Sans"
"""Comes with matplotlib: the same widths everywhere, and wider than what browsers use."""

_LONGEST = 400
"""Characters of which no more than a part can fit: what comes after is not measured."""

_HINTING = 1.03
"""Letters that are fitted to the dots of a picture can be a little wider."""

_BOX = "\N{WHITE SQUARE}"
_STAND_INS = range(0x2801, 0x2900)
"""Braille: the font has it, and names of issues do not."""


class Lettering:
    """The texts of one drawing.

    The font would complain of every character that it lacks. In an SVG, whose reader has other fonts,
    another character takes its place until the drawing is done; elsewhere it becomes a box.
    """

    def __init__(self, *, restorable: bool) -> None:
        self._free = iter(_STAND_INS if restorable else ())
        self._stand_ins: dict[str, str] = {}

    @property
    def restored(self) -> dict[int, str]:
        """What `str.translate` needs to bring the missing characters back."""
        return {ord(new): old for old, new in self._stand_ins.items() if new != _BOX}

    def fit(self, text: str, size: float, width: float, *, bold: bool = False) -> str:
        """Return as much of a text as fits into a width, in points, with an ellipsis where some is left out."""
        known = self._drawable(text[:_LONGEST])
        if len(text) <= _LONGEST and measure(known, size, bold=bold) <= width:
            return known
        low, high = 0, len(known)
        while low < high:
            middle = (low + high + 1) // 2
            fits = measure(known[:middle].rstrip() + "…", size, bold=bold) <= width
            low, high = (middle, high) if fits else (low, middle - 1)
        return known[:low].rstrip() + "…"

    def width(self, text: str, size: float, *, bold: bool = False) -> float:
        """Return the width that a text takes as it is drawn, in points."""
        return measure(self._drawable(text), size, bold=bold)

    def _drawable(self, text: str) -> str:
        for character in dict.fromkeys(filterfalse(_has_glyph, text)):
            if character in self._stand_ins:
                continue
            # Neither noncharacters, which XML forbids, nor stand-ins for themselves.
            fit = character.isprintable() and ord(character) not in _STAND_INS
            self._stand_ins[character] = chr(next(self._free, ord(_BOX))) if fit else _BOX
        return "".join(self._stand_ins.get(character, character) for character in text)


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text in points."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, _font(size, bold=bold), ismath=False)
    return float(width) * _HINTING


@cache
def _font(size: float, *, bold: bool) -> FontProperties:
    return FontProperties(family=_FAMILY, weight="bold" if bold else "normal", size=size)


@cache
def _has_glyph(character: str) -> bool:
    if ord(character) in _STAND_INS:
        return False
    # The bold one has fewer.
    return all(
        get_font(findfont(_font(10.0, bold=bold), fallback_to_default=False)).get_char_index(ord(character))
        for bold in (False, True)
    )
