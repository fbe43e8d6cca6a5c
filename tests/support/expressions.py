"""GitHub's expressions, as far as the workflows use them: what `${{ … }}` comes to in a given context."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>\d+)|(?P<sign>&&|\|\||==|!=|[!()\[\],.])|(?P<name>[A-Za-z_][\w-]*))"
)
_INSIDE = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "null": None}


def filled(text: str, context: Mapping[str, Any]) -> Any:
    """Return a value of a workflow with its expressions evaluated; one that is all of it keeps its type."""
    whole = _INSIDE.fullmatch(text.strip())
    if whole is not None:
        return evaluate(whole[1], context)
    return _INSIDE.sub(lambda found: written(evaluate(found[1], context)), text)


def written(value: Any) -> str:
    """Return a value as GitHub writes it into a string or an environment variable."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    """Return what an expression comes to; a name that is not there is null, as on GitHub."""
    tokens = []
    rest = expression.strip()
    while rest:
        found = _TOKEN.match(rest)
        assert found is not None, f"not an expression: {rest!r}"
        tokens.append((found.lastgroup, found[found.lastgroup]))
        rest = rest[found.end() :].strip()
    parser = _Parser(tokens, context)
    value = parser.either()
    assert not parser.tokens, f"left over: {parser.tokens}"
    return value


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]], context: Mapping[str, Any]) -> None:
        self.tokens = tokens
        self.context = context

    def take(self, *signs: str) -> str | None:
        if self.tokens and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return None

    def either(self) -> Any:
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value or other
        return value

    def both(self) -> Any:
        value = self.compared()
        while self.take("&&"):
            other = self.compared()
            value = value and other
        return value

    def compared(self) -> Any:
        value = self.negated()
        while sign := self.take("==", "!="):
            other = self.negated()
            # Texts are compared without case; null is equal to no text but the empty one.
            same = _folded(value) == _folded(other)
            value = same if sign == "==" else not same
        return value

    def negated(self) -> Any:
        return not self.negated() if self.take("!") else self.followed()

    def followed(self) -> Any:
        value = self.single()
        while sign := self.take(".", "["):
            key = self.tokens.pop(0)[1] if sign == "." else self.either()
            if sign == "[":
                assert self.take("]")
            inside = isinstance(value, list) and isinstance(key, int) and key < len(value)
            value = value.get(key) if isinstance(value, dict) else value[key] if inside else None
        return value

    def single(self) -> Any:
        if self.take("("):
            value = self.either()
            assert self.take(")")
            return value
        kind, text = self.tokens.pop(0)
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return int(text)
        assert kind == "name", f"not expected: {text}"
        return self.called(text) if self.take("(") else _CONSTANTS.get(text, self.context.get(text))

    def called(self, name: str) -> Any:
        given = []
        while not self.take(")"):
            given.append(self.either())
            self.take(",")
        if name == "contains":
            assert isinstance(given[0], list), "of texts it looks for a part, which is hardly ever meant"
            return any(_folded(one) == _folded(given[1]) for one in given[0])
        if name == "fromJSON":
            return json.loads(given[0])
        assert name in ("cancelled", "always", "success"), f"no function {name}"
        return name == "always" or bool(self.context.get(name, name == "success"))


def _folded(value: Any) -> Any:
    return "" if value is None else value.casefold() if isinstance(value, str) else value
