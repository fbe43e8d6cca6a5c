"""A Python file as the definitions at its top level, each with its text and the names that it needs."""

from __future__ import annotations

import ast
import symtable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIXTURE = "fixture"
_AUTOUSE = "autouse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One name that an import binds; `attribute` is None where it is a module."""

    module: str
    attribute: str | None
    name: str
    level: int = 0

    @property
    def statement(self) -> str:
        """The import of this name alone."""
        given = self.attribute or self.module
        alias = "" if self.name in (given, given.partition(".")[0]) else f" as {self.name}"
        source = "" if self.attribute is None else f"from {'.' * self.level}{self.module} "
        return f"{source}import {given}{alias}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A statement at the top level that is no import: a function, a class, a constant, or a block of such."""

    names: tuple[str, ...]
    """What it binds; nothing where it only does something."""
    text: str
    """With its decorators, and the comment right above it."""
    needs: frozenset[str]
    """Global names that it uses."""
    asks: frozenset[str]
    """Fixtures that pytest is to give it."""
    imports: tuple[Imported, ...] = ()
    """What it imports when it runs."""
    fixture: str | None = None
    """The name that pytest knows it by, if it is a fixture."""
    autouse: bool = False
    block: bool = False
    """Whether it is a function or a class, which blank lines set apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The top level of one file, in the order of its lines."""

    path: Path
    definitions: tuple[Definition, ...]
    imports: tuple[Imported, ...]

    def defining(self, name: str) -> tuple[Definition, ...]:
        """Return every definition of a name, and what is done with it besides."""
        return tuple(one for one in self.definitions if name in (one.names or one.needs))

    def giving(self, fixture: str) -> Definition | None:
        """Return the fixture that pytest would take here, if there is one."""
        return next((one for one in reversed(self.definitions) if one.fixture == fixture), None)


def read(path: Path) -> Scope:
    """Read a Python file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no Python.
    """
    text = path.read_text(encoding="utf-8")
    try:
        body = ast.parse(text, filename=str(path)).body
    except SyntaxError as error:
        raise ValueError(f"{path.name} is no Python of this version: {error}") from None
    lines = text.splitlines()
    top = [one for one in body if isinstance(one, ast.Import | ast.ImportFrom)]
    rest = [one for one in body if one not in top]
    return Scope(
        path=path,
        definitions=tuple(_definition(one, lines) for one in rest if not _is_text(one)),
        imports=tuple(name for one in top for name in _imported(one)),
    )


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring or the like."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imported(node: ast.AST) -> Iterator[Imported]:
    for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
        if isinstance(node, ast.ImportFrom):
            name = alias.asname or alias.name
            yield Imported(module=node.module or "", attribute=alias.name, name=name, level=node.level)
        else:
            # `import a.b` binds a, and makes a.b be there.
            yield Imported(module=alias.name, attribute=None, name=alias.asname or alias.name.partition(".")[0])


def _definition(node: ast.stmt, lines: Sequence[str]) -> Definition:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)]) - 1
    last = node.end_lineno or node.lineno
    source = "\n".join(lines[first:last])
    table = symtable.symtable(source, "<definition>", "exec")
    names = tuple(one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported())
    while first and lines[first - 1].startswith("#"):
        first -= 1
    marks = [mark for one in decorators if (mark := _call(one)) is not None]
    fixture = next((mark for mark in marks if _called(mark) == _FIXTURE), None)
    options = {one.arg: one.value for one in fixture.keywords} if fixture is not None else {}
    return Definition(
        names=names,
        text="\n".join(lines[first:last]),
        needs=frozenset(_globals(table)),
        asks=frozenset(_asked(node)),
        imports=tuple(name for one in ast.walk(node) for name in _imported(one)),
        fixture=None if fixture is None else str(_constant(options.get("name")) or names[0]),
        autouse=_AUTOUSE in options and _constant(options[_AUTOUSE]) is not False,
        block=isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef),
    )


def _call(decorator: ast.expr) -> ast.Call | None:
    """Return a decorator as a call, with or without parentheses."""
    if isinstance(decorator, ast.Call):
        return decorator
    return ast.Call(func=decorator, args=[], keywords=[])


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Return the names that a block takes from the top level, those of all blocks within it too."""
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (top or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _globals(child)


def _asked(node: ast.stmt) -> Iterator[str]:
    """Return the names that pytest may look up as fixtures: of arguments, and in `usefixtures` and the like."""
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            given = one.args
            yield from (argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs))
        elif isinstance(one, ast.Call) and _called(one) in ("usefixtures", "getfixturevalue"):
            yield from (value for argument in one.args if isinstance(value := _constant(argument), str))
