"""The `-k` expression: words and version conditions joined by `and`, `or`, `not` and parentheses.

torch>=2.2 and not xla
aqt or (python==3.11 and torchao<0.13)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError
from orchestrator.versions import SpecifierSet, Version, allows, parse_specifier

if TYPE_CHECKING:
    from orchestrator.model import Cell

Condition = Callable[["Cell", frozenset[str]], bool]
"""Takes a cell and the ids of the issues that ask about it."""

_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMPARISON = re.compile(r"(?P<axis>[A-Za-z0-9._-]*[A-Za-z0-9])(?P<spec>(?:===|==|!=|<=|>=|~=|<|>).+)")
_MAX_LENGTH = 2000


def compile_expression(text: str) -> Condition:
    """Compile a `-k` expression.

    Raises:
        ConfigError: it is malformed; the message shows the place.
    """
    if len(text) > _MAX_LENGTH:
        raise ConfigError(f"-k: the expression is longer than {_MAX_LENGTH} characters")
    parser = _Parser(text)
    condition = parser.disjunction()
    parser.expect_end()
    return condition


class _Parser:
    """Recursive descent over the tokens; one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
        self._next = 0
        self._depth = 0

    def disjunction(self) -> Condition:
        operands = [self._conjunction()]
        while self._accept("or"):
            operands.append(self._conjunction())
        return lambda cell, issues: any(operand(cell, issues) for operand in operands)

    def expect_end(self) -> None:
        if self._next < len(self._tokens):
            raise self._error("expected 'and', 'or' or the end")

    def _conjunction(self) -> Condition:
        operands = [self._negation()]
        while self._accept("and"):
            operands.append(self._negation())
        return lambda cell, issues: all(operand(cell, issues) for operand in operands)

    def _negation(self) -> Condition:
        negated = False
        while self._accept("not"):
            negated = not negated
        operand = self._operand()
        return (lambda cell, issues: not operand(cell, issues)) if negated else operand

    def _operand(self) -> Condition:
        if self._accept("("):
            self._depth += 1
            if self._depth > 50:  # noqa: PLR2004 - deeper than anyone writes, shallower than the stack
                raise self._error("too many parentheses")
            inner = self.disjunction()
            if not self._accept(")"):
                raise self._error("expected ')'")
            self._depth -= 1
            return inner
        if self._next >= len(self._tokens) or self._tokens[self._next][0] in (")", "and", "or"):
            raise self._error("expected a word, a condition such as torch>=2.2, or '('")
        word = self._tokens[self._next][0]
        if comparison := _COMPARISON.fullmatch(word):
            condition = self._comparison(comparison["axis"], comparison["spec"])
        else:
            condition = _contains(word.lower())
        self._next += 1
        return condition

    def _comparison(self, axis: str, spec: str) -> Condition:
        try:
            specifier = parse_specifier(spec)
        except ValueError as error:
            raise self._error(str(error)) from None
        return lambda cell, _issues: _meets(cell, axis, specifier)

    def _accept(self, token: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next][0] == token:
            self._next += 1
            return True
        return False

    def _error(self, what: str) -> ConfigError:
        place = self._tokens[self._next][1] if self._next < len(self._tokens) else len(self._text)
        return ConfigError(f"-k: column {place + 1} of {self._text!r}: {what}")


def _meets(cell: Cell, axis: str, specifier: SpecifierSet) -> bool:
    version = Version(cell.python) if axis == "python" else cell.versions.get(axis)
    return version is not None and allows(specifier, version)


def _contains(word: str) -> Condition:
    return lambda cell, issues: word in cell.id or any(word in issue.lower() for issue in issues)
