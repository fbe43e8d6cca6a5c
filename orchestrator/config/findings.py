"""Problems as they are found, and help with spelling."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from orchestrator.config.places import Problem, shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from orchestrator.config.document import Document
    from orchestrator.config.places import Keys

_FEW = 4
"""So many names are listed where none is near."""

_MANY = 200
"""Past so many names, help with spelling is not worth the time it takes."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return what to add to a message about an unknown name: the nearest known one, if any is near."""
    names = list(known)
    near = difflib.get_close_matches(name[:64], names, n=1) if len(names) <= _MANY else []
    return f"; did you mean {shown(near[0])}?" if near else ""


class Findings:
    """Collects the problems of a document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def add(self, keys: Keys, message: str, *, of_key: bool = False) -> None:
        """Note a problem of a value, or of its key."""
        mark = self.document.key_mark(keys) if of_key else self.document.mark(keys)
        self.problems.append(Problem(message=message, mark=mark, keys=keys))

    def known(self, name: str, names: Iterable[str], keys: Keys, otherwise: str, *, of_key: bool = False) -> bool:
        """Check that a name is one of the names; `otherwise` begins the message if not."""
        names = tuple(dict.fromkeys(names))
        if name in names:
            return True
        hint = nearest(name, names)
        if not hint and 0 < len(names) <= _FEW:
            hint = f"; there is {', '.join(map(shown, names))}"
        self.add(keys, f"{otherwise} {shown(name)}{hint}", of_key=of_key)
        return False

    def distinct(self, values: Iterable[tuple[Hashable, Keys]], what: str, *, of_key: bool = False) -> None:
        """Check that no two values are equal."""
        first: dict[Hashable, Keys] = {}
        for value, keys in values:
            if value not in first:
                first[value] = keys
                continue
            there = first[value]
            mark = self.document.key_mark(there) if of_key else self.document.mark(there)
            self.add(keys, f"the same {what} as at {mark}, {value}", of_key=of_key)
