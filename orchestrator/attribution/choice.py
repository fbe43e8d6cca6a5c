"""Which hybrid to run next, given what is believed of the suspects. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orchestrator.attribution.hybrids import hybrids, row, sets
from orchestrator.attribution.witnesses import claims

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from orchestrator.attribution.belief import Belief

    Units = frozenset[int]

_USEFUL = 0.01
"""Bits: a run that is expected to tell less decides nothing."""

_WITNESS = 0.4
"""Bits that a run is worth besides if it would be a witness, which is needed in the end anyway."""

_PLAUSIBLE = 0.02
"""A suspect's probability from which its witnesses count when a hybrid is chosen."""

_CAUTION = 0.7
"""Power of the posterior by which hybrids are compared: a little is paid on likely culprits, and unlikely ones
do not come last. By simulation, on 8 units: pairs take half a run less, single units 0.1 more."""

_AROUND = 3
"""Failing hybrids, the smallest first, whose parts are looked at where not all hybrids are."""


def next_hybrid(belief: Belief, unavailable: frozenset[Units], confidence: float) -> Units | None:
    """Return the hybrid to run next, as unit numbers; None where there is nothing left to ask.

    Until one suspect is believed with the confidence, that is the one that tells most; then its missing witnesses.
    """
    verdicts = belief.verdicts
    cautious = belief.tempered(_CAUTION)
    plausible = {
        belief.suspects.sets[number]: float(cautious.posterior[number])
        for number in np.flatnonzero(cautious.posterior[:-1] >= _PLAUSIBLE).tolist()
    }
    failing = sorted((one for one, bad in verdicts.items() if bad), key=lambda one: (len(one), sorted(one)))
    rows = hybrids(belief.suspects.units, plausible, failing[:_AROUND], draw=len(unavailable))
    top = int(belief.posterior.argmax())
    if belief.posterior[top] >= confidence:
        culprit = belief.suspects.sets[top] if top < len(belief.suspects.sets) else None
        return None if culprit is None else _witness(culprit, verdicts, unavailable, rows)
    worth = cautious.information(rows)
    worth[belief.information(rows) < _USEFUL] = -np.inf
    index = {one.tobytes(): number for number, one in enumerate(rows)}
    for one, probability in plausible.items():
        for claim in claims(one):
            number = index.get(row(claim.hybrid, rows.shape[1]).tobytes())
            if number is not None and not claim.shown(verdicts, unavailable):
                worth[number] += _WITNESS * probability
    for one in unavailable:
        number = index.get(row(one, rows.shape[1]).tobytes())
        if number is not None:
            worth[number] = -np.inf
    if not np.isfinite(worth).any():
        return None
    return sets(rows[int(worth.argmax())][None])[0]


def _witness(
    culprit: Units, verdicts: dict[Units, bool], unavailable: frozenset[Units], rows: NDArray[np.bool_]
) -> Units | None:
    every = sets(rows)
    open_claims = (claim for claim in claims(culprit) if not claim.shown(verdicts, unavailable))
    wanted = (claim.wanted(verdicts, unavailable, every) for claim in open_claims)
    return next((one for one in wanted if one is not None), None)
