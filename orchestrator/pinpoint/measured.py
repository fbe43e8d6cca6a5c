"""What is known of one cell once it was attempted, or was not to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.model import Cell, Judgement, Lock, Origin, Outcome

# What can befall a cell as a whole, the most telling first.
_CELL_WIDE = (
    Outcome.INCOMPATIBLE,
    Outcome.UNRESOLVABLE,
    Outcome.BUILD_FAILED,
    Outcome.NO_DEVICE,
    Outcome.INFRA,
    Outcome.NOT_RUN,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A cell with its lock and one judgement per issue (by id) that was looked for there."""

    cell: Cell
    lock: Lock | None = None
    digest: str | None = None
    """Of the lock, where it was worked out already."""
    git_versions: Mapping[str, str | None] = field(default_factory=dict)
    """Of packages under test, as the import pre-flight saw them."""
    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    """The newest of each issue that tells something, else the newest."""
    runs: Mapping[str, tuple[Judgement, ...]] = field(default_factory=dict)
    """All judgements of each issue, the oldest first, where it was looked for more than once."""
    reason: str | None = None
    """Why no probe could run here, in the words of whoever said so."""
    log: tuple[str, ...] = ()
    """The last lines of what was printed while the environment was made, where that failed."""
    origin: Origin | None = None
    """The newest attempt."""

    def judged(self, issue: str) -> tuple[Judgement, ...]:
        """Return every judgement of an issue, the oldest first; none where it was not looked for."""
        only = self.judgements.get(issue)
        return self.runs.get(issue, () if only is None else (only,))

    @property
    def outcome(self) -> Outcome | None:
        """What the whole cell came to where no probe could run; None where probes ran."""
        outcomes = {judgement.outcome for judgement in self.judgements.values()}
        if not outcomes:
            return Outcome.NOT_RUN
        if not outcomes.issubset(_CELL_WIDE):
            return None
        return next(outcome for outcome in _CELL_WIDE if outcome in outcomes)
