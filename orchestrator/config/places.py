"""Places in a file, and what is wrong there."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

Keys = tuple[str | int, ...]
"""The way from the top of a file to one of its values: mapping keys and list positions."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Mark:
    """A line and a column, both counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, said to a person. `mark` is None where it is about the file as a whole."""

    message: str
    mark: Mark | None = None
    keys: Keys = ()

    def __str__(self) -> str:
        parts = [*([str(self.mark)] if self.mark else []), *([dotted(self.keys)] if self.keys else [])]
        return ": ".join((*parts, self.message))


class MalformedError(Exception):
    """A file that cannot be read any further."""

    def __init__(self, message: str, *, mark: Mark | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(message=message, mark=mark)


def shown(text: str) -> str:
    """Quote text for a message: on one line, without control characters, and not too long."""
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return json.dumps(text, ensure_ascii=not text.isprintable())


def dotted(keys: Keys) -> str:
    """Return keys as `stacks.torch-cpu.axes.torch.0`; keys that would be misread are quoted."""
    return ".".join(
        key if isinstance(key, str) and _PLAIN.fullmatch(key) else shown(key) if isinstance(key, str) else str(key)
        for key in keys
    )
