"""An examination for people: a line for every check, and below what is wrong what to do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from orchestrator.doctor.finding import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestrator.doctor.finding import Examination, Finding, RuntimeName

_WORDS = {
    Level.OK: ("✓ ok", "ok"),
    Level.NOTE: ("• note", "unknown"),
    Level.PROBLEM: ("! problem", "affected"),
    Level.BLOCKER: ("✗ blocker", "finding"),
}
"""Glyph and word, and the role whose colour they have."""

_RUNTIMES: dict[RuntimeName, str] = {"docker": "in containers", "venv": "in virtual environments"}
_WIDTH = 9


def render(examination: Examination, style: Callable[[str, str], str]) -> str:
    """Return the whole text; `style` puts the colours of a role around a piece of it."""
    found = examination.findings
    indent = max((len(one.id) for one in found), default=0)
    lines = [line for one in found for line in _lines(one, indent, style)]
    return "\n".join([*lines, "", style("heading", _summary(examination))]) + "\n"


def _lines(one: Finding, indent: int, style: Callable[[str, str], str]) -> Iterator[str]:
    words, role = _WORDS[one.level]
    yield f"{style(role, words)}{' ' * (_WIDTH - len(words))}  {one.id:{indent}}  {one.summary}"
    below = " " * (_WIDTH + 2 + indent + 2)
    if one.level is not Level.OK:
        if one.detail:
            yield below + style("muted", one.detail)
        if one.hint:
            yield f"{below}{style('heading', 'hint:')} {one.hint}"


def _summary(examination: Examination) -> str:
    count = Counter(one.level for one in examination.findings)
    parts = [
        f"{count[level]} {level.value}{'' if count[level] == 1 else 's'}"
        for level in (Level.BLOCKER, Level.PROBLEM, Level.NOTE)
        if count[level]
    ]
    works = [_RUNTIMES[name] for name, able in examination.runtimes.items() if able]
    fails = [_RUNTIMES[name] for name, able in examination.runtimes.items() if not able]
    able = f"a run works {' and '.join(works)}" if works else f"a run cannot work {' or '.join(fails)}"
    lost = f", not {' or '.join(fails)}" if works and fails else ""
    return f"{', '.join(parts) or 'nothing is wrong'}; {able}{lost}"
