"""JSON text a piece at a time, exactly as `json.dumps(…, indent=2, ensure_ascii=False)` writes it, but sooner."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Items", "Raw", "compact", "exact", "pieces"]

_PLAIN = 1e-4, 1e16
"""From the first to below the second, everyone writes a float without an exponent."""

_TOGETHER = 64
"""Items of an array that are written at once."""


class Items:
    """An array that is made while it is written."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items


def pieces(members: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
    """Return an object and a line break as UTF-8; values are what `json.dumps` takes, or `Items` of it.

    Floats are to be `exact`, where they may have an exponent.
    """
    separator = b"{\n"
    for key, value in members:
        yield separator
        yield from _array(key, value.items) if isinstance(value, Items) else [_member(key, value)]
        separator = b",\n"
    yield b"\n}\n"


def exact(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON whose floats are written as Python writes them: 1e-05, not 0.00001.

    Raises:
        ValueError: JSON has no word for such a number.
    """
    if isinstance(value, float):
        if _PLAIN[0] <= value < _PLAIN[1] or value == 0.0:
            return value
        if not math.isfinite(value):
            raise ValueError(f"JSON has no {value}")
        return Raw(float.__repr__(value).encode())
    if isinstance(value, Mapping):
        return {key: exact(one) for key, one in value.items()}
    return [exact(one) for one in value] if isinstance(value, list) else value


def compact(value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Return JSON in as few bytes as possible, to be written as a `Raw` value later."""
    return msgspec.json.encode(value, enc_hook=exact)


def _member(key: str, value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Return the lines of an object's member."""
    text = msgspec.json.format(msgspec.json.encode({key: value}, enc_hook=exact), indent=2)
    return text.removeprefix(b"{\n").removesuffix(b"\n}")


def _array(key: str, items: Iterable[Any]) -> Iterator[bytes]:
    """Return the lines of a member that is an array, some items at a time."""
    remaining = iter(items)
    head, tail = f"  {json.dumps(key)}: [\n".encode(), b"\n  ]"
    separator = head
    while some := list(islice(remaining, _TOGETHER)):
        yield separator
        yield _member(key, some)[len(head) : -len(tail)]
        separator = b",\n"
    yield tail if separator != head else _member(key, [])
