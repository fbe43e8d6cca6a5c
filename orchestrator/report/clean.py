"""Text from probes, packages and resolvers, made harmless for whatever shows it.

Probes print what they like: escape sequences that repaint a terminal, controls that turn the reading order
round, line breaks that end a table. None of it reaches a report, whatever its format.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
_TEXTLESS = (int, float, Version, datetime, StrEnum)
_NUMBERS = frozenset((int, float, bool))
_LOG = "log"
"""The name that fields have whose text is lines of a log."""


def clean(text: str) -> str:
    """Return text as one line without escape sequences, control and formatting characters.

    Formatting characters are those that show nothing themselves but change the reading order or the width.
    """
    if not text.isprintable():
        text = "".join(map(_visible, _ESCAPES.sub("", text)))
    return _COMMAND.sub("# #", " ".join(text.split()))


def clean_line(text: str) -> str:
    """Return a line of a log made harmless as `clean` does it, its columns kept."""
    if not text.isprintable():
        text = "".join(map(_visible, _ESCAPES.sub("", text.expandtabs())))
    return _COMMAND.sub("# #", text.rstrip())


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    return "" if category in _DROPPED else _REPLACED.get(category, character)


def cleaned(value: T) -> T:
    """Return a value with all text in it clean, however deep: tuples, mappings and dataclasses of it."""
    return Cleaner().value(value)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where the text of a dataclass or struct is."""

    names: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]
    words: tuple[Callable[[Any], str | None], ...]
    """Get the fields that are a text or None."""
    deep: tuple[Callable[[Any], Any], ...]
    """Get the others."""
    log: Callable[[Any], tuple[str, ...]] | None
    """Gets the lines of a log, where the kind has one."""
    replace: Callable[..., Any]
    """Makes another value of the kind, with some fields changed."""


class Cleaner:
    """Cleans values that have texts in common: most come many times and are clean already.

    What is clean stays the same object.
    """

    def __init__(self) -> None:
        self._texts = _Texts(clean)
        self._lines = _Texts(clean_line)
        self._plans: dict[type, _Plan | None] = {}
        self._clean: dict[int, tuple[Any, ...]] = {}
        """Tuples that are clean, by identity: transitions have many in common."""

    def value(self, value: Any) -> Any:  # noqa: ANN401 - walks any value
        """Return a value with all text in it clean."""
        kind = type(value)
        if kind is str:  # not the enums, whose text is ours
            found = self._texts[value]
            return value if found == value else found
        if kind is tuple:
            return self._tuple(value)
        plan = self._plan(kind)
        if plan is not None:
            return self._object(value, plan)
        if isinstance(value, Mapping) and not self._measures(value):
            pairs = {self.value(key): self.value(item) for key, item in value.items()}
            return pairs if pairs != value else value
        return value

    def _measures(self, value: Mapping[Any, Any]) -> bool:
        """Tell whether a mapping holds nothing but numbers, by names that are known to be clean."""
        return _NUMBERS.issuperset(map(type, value.values())) and self._texts.clean.issuperset(value)

    def _plan(self, kind: type) -> _Plan | None:
        if kind not in self._plans:
            self._plans[kind] = _plan(kind)
        return self._plans[kind]

    def _tuple(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._clean.get(id(items)) is items:
            return items
        changed = {at: new for at in self._suspects(items) if (new := self.value(items[at])) is not items[at]}
        if changed:
            return tuple(changed.get(at, item) for at, item in enumerate(items))
        self._clean[id(items)] = items
        return items

    def _suspects(self, items: tuple[Any, ...]) -> Iterable[int]:
        """Return the places of items that may not be clean: where all are alike, most are told at a glance."""
        kinds = set(map(type, items))
        plan = self._plan(kinds.pop()) if len(kinds) == 1 else None
        clean = self._texts.clean.issuperset
        if plan is None or not all(clean(map(word, items)) for word in plan.words):
            return range(len(items))
        found: set[int] = set()
        for get in plan.deep:
            found.update([at for at, one in enumerate(map(get, items)) if one and not self._seen(one)])
        if plan.log is not None:
            lines = self._lines.clean.issuperset
            found.update([at for at, log in enumerate(map(plan.log, items)) if log and not lines(log)])
        return found

    def _seen(self, value: Any) -> bool:  # noqa: ANN401 - any value
        """Tell at a glance whether a value is known to be clean."""
        return self._clean.get(id(value)) is value or (isinstance(value, dict) and self._measures(value))

    def _object(self, value: Any, plan: _Plan) -> Any:  # noqa: ANN401
        changed: dict[str, Any] = {}
        for name, old in zip(plan.names, plan.values(value), strict=True):
            if not old:  # nothing, or no text
                continue
            new = tuple(map(self._lines.__getitem__, old)) if name == _LOG else self.value(old)
            if new is not old and new != old:
                changed[name] = new
        return plan.replace(value, **changed) if changed else value


class _Texts(dict[str, str]):
    """Text to what it is when it is clean."""

    def __init__(self, made_clean: Callable[[str], str]) -> None:
        super().__init__()
        self._made_clean = made_clean
        self.clean: set[str | None] = {None, ""}
        """Those that are."""

    def __missing__(self, text: str) -> str:
        found = self[text] = self._made_clean(text)
        if found == text:
            self.clean.add(text)
        return found


def _plan(kind: type) -> _Plan | None:
    """Return where a dataclass or struct may hold text; None where it holds none, and where it is neither."""
    struct = issubclass(kind, msgspec.Struct)
    if not struct and not is_dataclass(kind):
        return None
    fields = msgspec.structs.fields(kind) if struct else dataclasses.fields(kind)
    hints = get_type_hints(kind)
    names = tuple(field.name for field in fields if not _textless(hints[field.name]))
    if not names:
        return None
    words = [name for name in names if hints[name] in (str, str | None)]
    return _Plan(
        names,
        _getter(names),
        tuple(map(attrgetter, words)),
        tuple(attrgetter(name) for name in names if name not in words and name != _LOG),
        attrgetter(_LOG) if _LOG in names else None,
        msgspec.structs.replace if struct else dataclasses.replace,
    )


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _textless(hint: Any) -> bool:  # noqa: ANN401 - any annotation
    """Tell whether values of an annotation hold no text but our own: numbers, versions, times, enums."""
    members = get_args(hint)
    if members:
        return get_origin(hint) in (UnionType, Union, tuple) and all(map(_textless, members))
    return hint in (NoneType, ...) or (isinstance(hint, type) and issubclass(hint, _TEXTLESS))


def shorten(text: str, limit: int) -> str:
    """Return text of at most `limit` characters, with an ellipsis where some were left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
