"""Text from probes, packages and resolvers, made harmless for whatever shows it.

Probes print what they like: escape sequences that repaint a terminal, controls that turn the reading order
round, line breaks that end a table. None of it reaches a report, whatever its format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
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
    return _cleaned(value)  # type: ignore[no-any-return]


def _cleaned(value: Any) -> Any:  # noqa: ANN401 - walks any value
    if type(value) is str:  # not the enums, whose text is ours
        return clean(value)
    if isinstance(value, tuple):
        return tuple(_cleaned(item) for item in value)
    if isinstance(value, Mapping):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _cleaned(getattr(value, f.name)) for f in fields(value)})
    return value


def shorten(text: str, limit: int) -> str:
    """Return text of at most `limit` characters, with an ellipsis where some were left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
