"""The probes that a directory holds, found without running any of its code."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_SIZE = 1024 * 1024
"""Largest probe file that is read, in bytes."""


class UnreadableError(Exception):
    """A file that holds no probes that anybody could find."""


def files(directory: Path) -> tuple[str, ...]:
    """Return the probe files below a directory, as they are written in node ids."""
    found = (path.relative_to(directory).as_posix() for path in directory.rglob("test_*.py"))
    return tuple(sorted(found))


def tests(directory: Path, name: str) -> tuple[str, ...]:
    """Return the tests of one file, as `test` and `Class::test`.

    A class that inherits is also there as `Class::*`: it may have tests that its file does not show.

    Raises:
        UnreadableError: the file is not there, outside the directory, or not Python.
    """
    path = (directory / name).resolve()
    if not path.is_relative_to(directory.resolve()):
        raise UnreadableError("is a link to outside of the probes directory")
    if not path.is_file():
        raise UnreadableError("does not exist")
    try:
        with path.open("rb") as file:
            source = file.read(MAX_SIZE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for the author of the probe, when it runs
            module = ast.parse(source)
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}") from None
    except SyntaxError as error:
        raise UnreadableError(f"is not Python: {error.msg}, line {error.lineno}") from None
    except (ValueError, RecursionError, MemoryError):
        raise UnreadableError("is not Python") from None
    return tuple(_tests(module.body))


def _tests(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("test"):
                yield name
            case ast.ClassDef():
                yield from (f"{statement.name}::{test}" for test in _tests(statement.body) if "::" not in test)
                if statement.bases:
                    yield f"{statement.name}::*"
            case ast.If() | ast.For() | ast.While():
                yield from _tests((*statement.body, *statement.orelse))
            case ast.With():
                yield from _tests(statement.body)
            case ast.Try():
                handlers = (inner for handler in statement.handlers for inner in handler.body)
                yield from _tests((*statement.body, *handlers, *statement.orelse, *statement.finalbody))
            case _:
                pass
