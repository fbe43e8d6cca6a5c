"""What was judged of one issue along a line, to the points of its series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model import Judgement, Outcome, Point, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.pinpoint.measured import Measured
    from orchestrator.versions import Version

_LOG_LINES = 30
"""Of what a probe printed or raised, at most."""

_NOT_RUN = Judgement(outcome=Outcome.NOT_RUN, verdict=Verdict.UNKNOWN)
_GOOD, _BAD, _UNKNOWN = Verdict.GOOD, Verdict.BAD, Verdict.UNKNOWN


def points_of(
    issue: str, versions: Sequence[Version], cells: Sequence[Measured], bad: Sequence[bool] | None
) -> tuple[Point, ...]:
    """Return the points of an issue in the cells of `versions`; `bad` says which state is believed of each."""
    shown: set[str | None] = set()
    points = []
    for at, measured in enumerate(cells):
        judged = measured.runs.get(issue) if measured.runs else None
        if judged is None or len(judged) == 1:
            judgement = judged[0] if judged else measured.judgements.get(issue, _NOT_RUN)
            verdict = judgement.verdict
            failed, passed = int(verdict is _BAD), int(verdict is _GOOD)
        else:
            judgement = _believable(judged or (_NOT_RUN,), bad=bad is not None and bool(bad[at]))
            verdict = judgement.verdict
            verdicts = [one.verdict for one in judged]
            failed, passed = verdicts.count(_BAD), verdicts.count(_GOOD)
        log: tuple[str, ...] = ()
        if judgement.message and judgement.signature not in shown:
            shown.add(judgement.signature)
            log = tuple(judgement.message.splitlines()[-_LOG_LINES:])
        points.append(
            Point(
                version=versions[at],
                cell=measured.cell.id,
                outcome=judgement.outcome,
                verdict=verdict,
                signature=judgement.signature,
                metrics=judgement.metrics,
                bad=failed,
                good=passed,
                attempt=judgement.attempt,
                duration=judgement.duration,
                log=log,
            )
        )
    return tuple(points)


def _believable(judged: Sequence[Judgement], *, bad: bool) -> Judgement:
    """Return the run to be shown: the newest that tells anything, and agrees with what is believed.

    A single run is a fact; where runs disagree, the model says which of them to believe.
    """
    telling = [one for one in judged if one.verdict is not _UNKNOWN]
    believed = _BAD if bad else _GOOD
    agreeing = [one for one in telling if one.verdict is believed]
    return (agreeing or telling or judged)[-1]
