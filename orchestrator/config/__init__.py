"""`matrix.yaml` to a checked `Matrix`: every problem at once, each with its place and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.config.checks import check
from orchestrator.config.convert import convert
from orchestrator.config.document import parse, read
from orchestrator.config.json_schema import schema
from orchestrator.config.places import MalformedError, Mark, Problem
from orchestrator.config.validation import validate
from orchestrator.errors import MatrixInvalidError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from orchestrator.model import Matrix

__all__ = ["load", "schema"]


def load(path: Path) -> Matrix:
    """Read a matrix.

    Raises:
        MatrixInvalidError: it is wrong; the message has one line per problem, `path:line:column: keys: problem`.
    """
    try:
        document = parse(read(path))
    except MalformedError as error:
        raise _error(path, [error.problem]) from None
    file, invalid = validate(document)
    problems = _without_consequences(document.problems, invalid)
    if file is not None:
        problems = _without_consequences(problems, check(document, file, path.parent.resolve()))
    if problems or file is None:
        raise _error(path, problems)
    return convert(file, path)


def _without_consequences(known: tuple[Problem, ...], found: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Add problems, but not those of a value in which something is known to be wrong already."""
    around = {problem.keys[: length + 1] for problem in known for length in range(len(problem.keys) or 1)}
    return (*known, *(problem for problem in found if problem.keys not in around))


def _error(path: Path, problems: Iterable[Problem]) -> MatrixInvalidError:
    ordered = sorted(problems, key=lambda problem: problem.mark or Mark(line=0, column=0))
    lines = [f"{path}:{problem}" if problem.mark else f"{path}: {problem}" for problem in ordered]
    return MatrixInvalidError("\n".join(lines), hint="docs/reference/matrix.md describes every key")
