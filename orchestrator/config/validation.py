"""A document against the format: what is wrong, and as much of it as is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from orchestrator.config.places import Problem
from orchestrator.config.problems import place, problem
from orchestrator.config.schema import FORMAT, File

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.config.document import Document
    from orchestrator.config.places import Keys


def validate(document: Document) -> tuple[File | None, tuple[Problem, ...]]:
    """Return the file and its problems.

    Where there are problems, the file is what is left without the wrong parts, so that the rest can be checked
    too; None where nothing useful is left.
    """
    value = document.value
    newer = _newer(value)
    if newer is not None:
        message = f"this file has format {newer}, and this orchestrator reads format {FORMAT}: upgrade it"
        return None, (Problem(message=message, mark=document.mark(("version",)), keys=("version",)),)
    problems: tuple[Problem, ...] | None = None
    while True:
        try:
            return File.model_validate(value), problems or ()
        except ValidationError as error:
            errors = error.errors(include_url=False)
        if problems is None:  # later ones are consequences of what was left out
            problems = tuple(problem(document, error) for error in errors)
        wrong = {_part(place(document, error), missing=error["type"] == "missing") for error in errors}
        if () in wrong:
            return None, problems
        left = _without(value, wrong)
        if left == value:
            return None, problems
        value = left


def _newer(value: object) -> int | None:
    version = value.get("version") if isinstance(value, dict) else None
    return version if isinstance(version, int) and version > FORMAT else None


def _part(keys: Keys, *, missing: bool) -> Keys:
    """Return the part to leave out: never one item of a list, for that would move the others."""
    if missing:
        keys = keys[:-1]
    first = next((index for index, key in enumerate(keys) if isinstance(key, int)), len(keys))
    return keys[:first]


def _without(value: object, wrong: Iterable[Keys]) -> object:
    if not isinstance(value, dict):
        return value
    below: dict[str | int, list[Keys]] = {}
    for keys in wrong:
        below.setdefault(keys[0], []).append(keys[1:])
    return {
        key: _without(item, below[key]) if key in below else item
        for key, item in value.items()
        if () not in below.get(key, ())
    }
