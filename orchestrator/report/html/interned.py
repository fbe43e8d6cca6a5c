"""Values that are told once and then by their number: what keeps the data of a page small."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

T = TypeVar("T", bound="Hashable")


class Interned(Generic[T]):
    """Values in the order in which they first came."""

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._numbers: dict[T, int] = {}
        for value in values:
            self.number(value)

    def number(self, value: T) -> int:
        """Return the number of a value, a new one if it was not there."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[T]:
        """All values; each stands at its number."""
        return list(self._numbers)


def front_coded(texts: Iterable[str]) -> list[int | str]:
    """Return texts as pairs: how many characters each begins with like the one before it, and the rest."""
    coded: list[int | str] = []
    last = ""
    for text in texts:
        shared = 0
        while shared < min(len(text), len(last)) and text[shared] == last[shared]:
            shared += 1
        coded += [shared, text[shared:]]
        last = text
    return coded


def runs(values: Iterable[T]) -> list[T | int]:
    """Return values as pairs: each value and how often it comes in a row."""
    coded: list[T | int] = []
    for value, members in groupby(values):
        coded += [value, sum(1 for _ in members)]
    return coded
