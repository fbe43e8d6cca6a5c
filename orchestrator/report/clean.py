"""Text from probes, packages and resolvers, made harmless for whatever shows it.

Probes print what they like: escape sequences that repaint a terminal, controls that turn the reading order
round, line breaks that end a table. None of it reaches a report, whatever its format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_not
from typing import Any, TypeVar

T = TypeVar("T")

_ESCAPES = re.compile(
    r"""
    (?: \x1b \[ | \x9b ) [0-?]* [ -/]* [@-~]?     # CSI: colours, cursor movement
    | (?: \x1b [\]PX^_] | [\x9d\x90\x98\x9e\x9f] )  # OSC, DCS, …: window titles, links
      [^\x07\x1b\x9c]* (?: \x07 | \x1b\\ | \x9c )
    | \x1b [ -/]* [0-~]?                           # anything else that ESC begins
    """,
    re.VERBOSE,
)
# Marks of a workflow command that GitHub Actions looks for anywhere in a line.
_COMMAND = re.compile(r"##(?=\[)")
_REPLACED = {"Cs": "\N{REPLACEMENT CHARACTER}", "Zl": " ", "Zp": " "}
_DROPPED = ("Cc", "Cf")


def clean(text: str) -> str:
    """Return text as one line without escape sequences, control and formatting characters.

    Formatting characters are those that show nothing themselves but change the reading order or the width.
    """
    if not text.isprintable():
        text = "".join(map(_visible, _ESCAPES.sub("", text)))
    return _COMMAND.sub("# #", " ".join(text.split()))


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    return "" if category in _DROPPED else _REPLACED.get(category, character)


def cleaned(value: T) -> T:
    """Return a value with all text in it clean, however deep: tuples, mappings and dataclasses of it."""
    return _Cleaner().value(value)  # type: ignore[no-any-return]


class _Cleaner:
    """One pass over a value. Most text comes many times and is clean already: what is, stays the same object."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._names: dict[type, tuple[str, ...]] = {}

    def value(self, value: Any) -> Any:  # noqa: ANN401 - walks any value
        kind = type(value)
        if kind is str:  # not the enums, whose text is ours
            return self._text(value)
        if kind not in self._names:
            self._names[kind] = tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()
        if names := self._names[kind]:
            return self._object(value, names)
        if isinstance(value, tuple):
            items = [self.value(item) for item in value]
            return tuple(items) if any(map(is_not, items, value)) else value
        if isinstance(value, Mapping):
            pairs = {self.value(key): self.value(item) for key, item in value.items()}
            return pairs if pairs != value else value
        return value

    def _text(self, text: str) -> str:
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = clean(text)
        return text if known == text else known

    def _object(self, value: Any, names: tuple[str, ...]) -> Any:  # noqa: ANN401
        changed = {}
        for name in names:
            old = getattr(value, name)
            if (new := self.value(old)) is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value


def shorten(text: str, limit: int) -> str:
    """Return text of at most `limit` characters, with an ellipsis where some were left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
