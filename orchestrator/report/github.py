"""Annotations of a GitHub Actions run: one line per finding that the run before did not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model import Surprise
from orchestrator.pinpoint import newest_known
from orchestrator.report import words
from orchestrator.report.clean import clean, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orchestrator.model import Finding, Report, Series

MOST = 10
"""GitHub shows this many annotations of one kind per step, and drops the others without a word."""

_SIGNATURE = 200
"""Characters of a signature at most."""

_COMMANDS = {Surprise.REGRESSION: "error", Surprise.AFFECTED: "error", Surprise.FIXED: "notice"}
_TITLES = {
    Surprise.REGRESSION: "Regression",
    Surprise.AFFECTED: "Unexpectedly affected",
    Surprise.FIXED: "Unexpectedly fixed",
}


def render(report: Report) -> str:
    """Return the annotations of all findings that are new, one a line; an empty line where there is none."""
    return "\n".join(commands(report)) + "\n"


def commands(report: Report) -> tuple[str, ...]:
    """Return one workflow command per new finding: errors for what is affected, notices for what is fixed.

    Of each command there are at most `MOST`, the last of which says how many findings have none.
    """
    series = {_place(one): one for one in report.series}
    found: dict[str, list[str]] = {}
    for finding in report.findings:
        if finding.new:
            name = _COMMANDS[finding.kind]
            message = _message(finding, series.get(_place(finding)))
            found.setdefault(name, []).append(command(name, f"{_TITLES[finding.kind]}: {finding.issue}", message))
    return tuple(line for name, lines in sorted(found.items()) for line in _bounded(name, lines))


def command(name: str, title: str, message: str) -> str:
    """Return a workflow command on one line, with nothing in its texts that could end it or begin another."""
    return f"::{name} title={_escaped(title, '%:,')}::{_escaped(message, '%')}"


def _escaped(text: str, special: Iterable[str]) -> str:
    text = clean(text)
    for character in special:  # the per cent sign first: it begins all that comes after
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _place(one: Series | Finding) -> tuple[str, ...]:
    return one.issue, one.stack, one.axis, *(f"{name}={value}" for name, value in sorted(one.fixed.items()))


def _message(finding: Finding, series: Series | None) -> str:
    newest = None if series is None else newest_known(series.points)
    shows = newest.signature if newest is not None and finding.kind is not Surprise.FIXED else None
    return words.surprise(finding) + (f" ({shorten(clean(shows), _SIGNATURE)})" if shows else "")


def _bounded(name: str, lines: list[str]) -> Iterator[str]:
    if len(lines) <= MOST:
        yield from lines
        return
    yield from lines[: MOST - 1]
    yield command(
        name, "More findings", f"and {words.plural(len(lines) - MOST + 1, 'finding')} more: see the report"
    )
