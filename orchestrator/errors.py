"""Errors that end the program, one exit code per class.

Trouble inside a cell is never one of these: it is data, an `Outcome`.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to its caller."""

    OK = 0
    FINDINGS = 1
    CONFIG = 2
    NOTHING_SELECTED = 3
    INCOMPLETE = 4
    ENVIRONMENT = 5
    INTERNAL = 70
    INTERRUPTED = 130


class OrchestratorError(Exception):
    """Something the user can act on: the message says what and where, `hint` what to do next."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(OrchestratorError):
    """The matrix or the command line is wrong; nothing was run."""

    exit_code = ExitCode.CONFIG


class MatrixInvalidError(ConfigError):
    """The matrix file is wrong: the message has one problem a line, `path:line:column: …` as editors read it."""


class NothingSelectedError(OrchestratorError):
    """The selection left no cell."""

    exit_code = ExitCode.NOTHING_SELECTED


class EnvironmentUnusableError(OrchestratorError):
    """This host cannot run what was asked: no engine, no disk, no interpreter."""

    exit_code = ExitCode.ENVIRONMENT


class InterruptedRunError(OrchestratorError):
    """The user stopped the run; what was measured is kept."""

    exit_code = ExitCode.INTERRUPTED
