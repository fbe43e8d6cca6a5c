"""Pydantic's errors, in the words of the format and at their places in the file."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from orchestrator.config.document import Document, misread
from orchestrator.config.findings import nearest
from orchestrator.config.json_schema import schema
from orchestrator.config.places import Keys, Problem, shown
from orchestrator.config.scalar import NOT_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_core import ErrorDetails

_KEY = "[key]"
"""How pydantic marks an error that is about the key, not the value."""

_WANTED = {
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "too_short": "must not be empty",
    "missing": "missing",
}


def place(document: Document, error: ErrorDetails) -> Keys:
    """Return the keys of an error. Union tags, which pydantic puts between the keys, are left out."""
    missing = error["loc"][-1:] if error["type"] == "missing" else ()
    keys: Keys = ()
    for part in error["loc"][: len(error["loc"]) - len(missing)]:
        if (*keys, part) in document:
            keys = (*keys, part)
    return (*keys, *missing)


def problem(document: Document, error: ErrorDetails) -> Problem:
    """Return a pydantic error as a problem."""
    keys = place(document, error)
    about_key = error["loc"][-1:] == (_KEY,) or error["type"] == "extra_forbidden"
    if error["type"] == "missing":
        mark = document.key_mark(keys[:-1])
    else:
        mark = document.key_mark(keys) if about_key else document.mark(keys)
    return Problem(message=_message(document, error, keys), mark=mark, keys=keys)


def _message(document: Document, error: ErrorDetails, keys: Keys) -> str:
    given, context = error["input"], error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            message = f"unknown key{nearest(str(keys[-1]), known_keys(keys[:-1]))}"
        case "value_error":
            message = str(context["error"])
        case "literal_error":
            choices = str(context["expected"]).replace("'", "")
            words = choices.replace(" or ", ", ").split(", ")
            near = nearest(given, words) if isinstance(given, str) else ""
            wanted = f"one of {choices}" if len(words) > 1 else choices
            message = f"must be {wanted}, not {_given(document, keys, given)}{near}"
        case "greater_than":
            message = f"must be greater than {context['gt']}, not {given}"
        case "greater_than_equal":
            message = f"must be at least {context['ge']}, not {given}"
        case "less_than_equal":
            message = f"must be at most {context['le']}, not {given}"
        case "not_text" | "form" as kind if not isinstance(given, list | dict):
            wanted = error["msg"] if kind == NOT_TEXT else "versions must be strings"
            message = f"{wanted}: {misread(document.sources.get(keys, ''), given)}"
        case "missing" | "too_short" | "rules" as kind:
            message = _WANTED.get(kind, error["msg"])
        case kind:
            message = f"{_WANTED.get(kind, error['msg'])}, not {_given(document, keys, given)}"
    return message


def _given(document: Document, keys: Keys, given: object) -> str:
    if isinstance(given, list):
        return "a list"
    if isinstance(given, dict):
        return "a mapping"
    return shown(given) if isinstance(given, str) else shown(document.sources.get(keys, str(given))).strip('"')


_format = functools.cache(schema)


def known_keys(keys: Keys) -> tuple[str, ...]:
    """Return the keys that the format has at a place."""
    whole = _format()
    nodes = [whole]
    for key in keys:
        nodes = [inner for node in nodes for inner in _inner(whole, node, key)]
    return tuple(name for node in nodes for plain in _plain(whole, node) for name in plain.get("properties", {}))


def _inner(whole: Mapping[str, Any], node: Mapping[str, Any], key: str | int) -> Iterator[dict[str, Any]]:
    for plain in _plain(whole, node):
        if isinstance(key, int):
            found = [plain.get("items")]
        else:
            named = plain.get("properties", {}).get(key)
            found = (
                [named]
                if named
                else [*plain.get("patternProperties", {}).values(), plain.get("additionalProperties")]
            )
        yield from (inner for inner in found if isinstance(inner, dict))


def _plain(whole: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Follow references and alternatives."""
    if "$ref" in node:
        yield from _plain(whole, whole["$defs"][node["$ref"].rpartition("/")[2]])
    for alternative in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from _plain(whole, alternative)
    yield node
