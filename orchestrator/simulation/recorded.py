"""What a run measured, as histories to search again: reads the JSON report (docs/reference/report.md)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.errors import ConfigError
from orchestrator.model import Outcome, Verdict
from orchestrator.pinpoint.prior import shares
from orchestrator.simulation.histories import World
from orchestrator.versions import Version, parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FORMAT = 1


def worlds(report: Mapping[str, Any], *, false_fail: float = 0.0, false_pass: float = 0.0) -> tuple[World, ...]:
    """Return one world for every set of issues that are followed along the same cells.

    What was measured is the truth, an unknown outcome cannot be tested, and the rates come on top. Series of
    fewer than two versions, and issues about which nothing is known, are left out.

    Raises:
        ConfigError: this is no report that can be read, or nothing in it can be searched.
    """
    if report.get("format") != _FORMAT or not isinstance(report.get("results"), list):
        raise ConfigError(
            f"this is no JSON report of format {_FORMAT}",
            hint="`orchestrator report --format json -o FILE` writes one",
        )
    series: dict[tuple[object, ...], list[dict[Version, Verdict]]] = defaultdict(list)
    try:
        for result in report["results"]:
            verdicts = {
                parse_version(version): Outcome(cell["outcome"]).verdict
                for version, cell in result["cells"].items()
            }
            if any(verdict is not Verdict.UNKNOWN for verdict in verdicts.values()):
                key = (result["stack"], result["axis"], tuple(sorted(result["fixed"].items())))
                series[key].append(verdicts)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"the report's results cannot be read: {error!r}") from error
    found = tuple(
        _world(issues, versions, false_fail, false_pass)
        for issues in series.values()
        if len(versions := sorted(set().union(*issues))) > 1
    )
    if not found:
        raise ConfigError(
            "the report has no series of two versions with a known verdict: there is nothing to search"
        )
    return found


def _world(
    issues: Sequence[Mapping[Version, Verdict]], versions: Sequence[Version], false_fail: float, false_pass: float
) -> World:
    verdicts = [[issue.get(version, Verdict.UNKNOWN) for version in versions] for issue in issues]
    return World(
        bad=np.array([[one is Verdict.BAD for one in row] for row in verdicts]),
        testable=np.array([[one is not Verdict.UNKNOWN for one in row] for row in verdicts]),
        steps=shares(versions),
        false_fail=false_fail,
        false_pass=false_pass,
    )
