"""The issues of a repository on GitHub, through its command-line program `gh`."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.announce import marker
from orchestrator.announce.decide import Act, Reason
from orchestrator.announce.thread import Thread
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.report.clean import clean, shorten

if TYPE_CHECKING:
    from orchestrator.announce.decide import Action
    from orchestrator.announce.text import Page

_PATIENCE = 120.0
"""Seconds that one call may take."""

_MOST = 1000
"""Issues with the label that are read at most, the newest first."""

_DESCRIPTION = "Opened and closed by matrix-orchestrator"
_COLOUR = "d93f0b"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHub:
    """A repository; which one and as whom is up to `gh` (GH_REPO, GH_TOKEN, or where one is logged in)."""

    label: str
    """Only issues that carry it are read: outsiders, who can write a hidden line too, cannot set labels."""

    def threads(self) -> tuple[Thread, ...]:
        """Return the issues that are kept here, open or closed.

        Raises:
            EnvironmentUnusableError: `gh` is not there or refuses.
        """
        arguments = ("--label", self.label, "--state", "all", "--limit", str(_MOST), "--json", "number,state,body")
        return tuple(
            Thread(number=int(one["number"]), open=one["state"] == "OPEN", body=one["body"], told=told)
            for one in self._listed("issue", "list", *arguments)
            if (told := marker.read(one["body"])) is not None
        )

    def prepare(self) -> None:
        """Make the label if there is none yet; one that is there stays as it is.

        Raises:
            EnvironmentUnusableError: `gh` is not there or refuses.
        """
        labels = self._listed("label", "list", "--limit", str(_MOST), "--json", "name")
        if all(one["name"].casefold() != self.label.casefold() for one in labels):
            _gh("label", "create", self.label, "--description", _DESCRIPTION, "--color", _COLOUR)

    def carry_out(self, action: Action, page: Page) -> str:
        """Do one thing; returns the number or address of the issue.

        What is cut off in the middle is done again by the next run: at worst a comment comes twice.

        Raises:
            EnvironmentUnusableError: `gh` is not there or refuses.
        """
        if action.thread is None:
            given = ("--title", page.title, "--label", self.label, "--body-file", "-")
            return _gh("issue", "create", *given, text=page.body).strip()
        number = str(action.thread.number)
        if action.act is Act.CLOSE:
            # The text first: one that is closed and still told the finding would stay silent when it comes back.
            _gh("issue", "edit", number, "--body-file", "-", text=page.body)
            reason = "completed" if action.reason is Reason.FIXED else "not planned"
            _gh("issue", "comment", number, "--body-file", "-", text=page.comment)
            _gh("issue", "close", number, "--reason", reason)
            return f"#{number}"
        if action.act is Act.REOPEN:
            _gh("issue", "reopen", number)
        _gh("issue", "comment", number, "--body-file", "-", text=page.comment)
        _gh("issue", "edit", number, "--body-file", "-", text=page.body)
        return f"#{number}"

    @staticmethod
    def _listed(*arguments: str) -> list[dict[str, str]]:
        answer = _gh(*arguments)
        try:
            found: list[dict[str, str]] = json.loads(answer)
        except ValueError:
            raise EnvironmentUnusableError(f"gh {arguments[0]} list did not answer in JSON") from None
        return found


def _gh(*arguments: str, text: str = "") -> str:
    program = shutil.which("gh")
    if program is None:
        raise EnvironmentUnusableError(
            "there is no gh on PATH", hint="install GitHub's command-line program, https://cli.github.com"
        )
    what = f"gh {arguments[0]} {arguments[1]}"
    try:
        done = subprocess.run(
            [program, *arguments], input=text, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentUnusableError(f"{what} did not end within {_PATIENCE:.0f} s") from None
    except OSError as error:
        raise EnvironmentUnusableError(f"cannot run {program}: {error.strerror}") from None
    if done.returncode:
        said = shorten(clean(done.stderr), 300) or f"exit status {done.returncode}"
        hint = "in a workflow it needs `issues: write` and GH_TOKEN; by hand, `gh auth login`"
        raise EnvironmentUnusableError(f"{what}: {said}", hint=hint)
    return done.stdout
