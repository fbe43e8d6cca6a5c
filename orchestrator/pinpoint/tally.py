"""Runs of an issue, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.model import Judgement
    from orchestrator.pinpoint.measured import Measured

Tally = tuple[int, int, bool]
"""Runs in one cell that came out bad, and good, and whether the state can ever be known there."""
Tallies = tuple[Tally, ...]

_GOOD, _BAD = (0, 1, True), (1, 0, True)
_OPEN = (0, 0, True)
"""Nothing is known yet: another run may tell."""
_CLOSED = (0, 0, False)
"""The verdict is unknown for a reason that another run would find again."""


def tallies(issue: str, row: Sequence[Measured]) -> Tallies:
    """Count the runs of an issue in each cell of a row."""
    found = []
    for measured in row:
        if issue in measured.runs:
            found.append(_counted(measured.runs[issue]))
        else:
            only = measured.judgements.get(issue)
            found.append(_OPEN if only is None else _single(only))
    return tuple(found)


def changes(row: Tallies, bad: Sequence[bool]) -> Iterator[tuple[int | None, int, bool]]:
    """Return every change of state: where the old one was seen last, where the new one first, whether it is bad.

    A first known version that is bad is one too, without an old state. `bad` says what is believed of the versions
    whose runs disagree.
    """
    last, state = None, False
    for at, (failed, passed, _) in enumerate(row):
        if not failed and not passed:
            continue
        now = bool(bad[at]) if failed and passed else failed > 0
        if now is not state:
            yield last, at, now
        last, state = at, now


def _counted(judged: Sequence[Judgement]) -> Tally:
    if len(judged) == 1:
        return _single(judged[0])
    verdicts = [one.verdict for one in judged]
    bad, good = verdicts.count(Verdict.BAD), verdicts.count(Verdict.GOOD)
    if bad or good or not judged:
        return bad, good, True
    return _single(judged[-1])


def _single(judgement: Judgement) -> Tally:
    if judgement.verdict is Verdict.GOOD:
        return _GOOD
    if judgement.verdict is Verdict.BAD:
        return _BAD
    return _OPEN if judgement.outcome is Outcome.NOT_RUN else _CLOSED
