"""Which cells of a matrix to run."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError
from orchestrator.matrix.expression import compile_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.model import Cell, Issue, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the user asked for. Everything given must hold; values of one option are alternatives."""

    globs: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    expression: str | None = None
    only: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()


def find(cells: Iterable[Cell], name: str) -> Cell:
    """Return the cell of an id.

    Raises:
        ConfigError: there is none, with the nearest one.
    """
    named = {cell.id: cell for cell in cells}
    if name in named:
        return named[name]
    near = difflib.get_close_matches(name, named, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "`orchestrator list --all` shows every cell"
    raise ConfigError(f"there is no cell {name!r}", hint=hint)


def select(matrix: Matrix, cells: Sequence[Cell], selection: Selection) -> tuple[Cell, ...]:
    """Return the selected cells, in order; excluded cells and cells no issue asks about are never selected.

    Raises:
        ConfigError: a name that is not there, with the nearest one, or a malformed expression.
    """
    _check("--only", selection.only, (cell.id for cell in cells))
    _check("--issue", selection.issues, matrix.issues)
    _check("--stack", selection.stacks, matrix.stacks)
    condition = compile_expression(selection.expression) if selection.expression is not None else None

    def wanted(cell: Cell) -> bool:
        issues = frozenset(issue.id for issue in asked(matrix, cell, selection))
        return (
            cell.excluded is None
            and bool(issues)
            and (not selection.only or cell.id in selection.only)
            and (not selection.stacks or cell.stack in selection.stacks)
            and (not selection.globs or any(fnmatchcase(cell.id, glob) for glob in selection.globs))
            and not any(fnmatchcase(cell.id, glob) for glob in selection.skip)
            and (condition is None or condition(cell, issues))
        )

    return tuple(cell for cell in cells if wanted(cell))


def asked(matrix: Matrix, cell: Cell, selection: Selection) -> tuple[Issue, ...]:
    """Return the issues that ask about a cell, of those selected."""
    return tuple(
        issue
        for issue in matrix.issues.values()
        if cell.stack in issue.subjects and (not selection.issues or issue.id in selection.issues)
    )


def _check(option: str, given: Iterable[str], known: Iterable[str]) -> None:
    names = list(known)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`orchestrator list` shows what there is"
            raise ConfigError(f"{option}: there is no {name!r}", hint=hint)
