"""Series that say the same, together: what people read, where a tool reads each one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.model import Series

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Series of one issue, stack and axis that agree in every outcome, verdict, transition and the state."""

    series: tuple[Series, ...]

    @property
    def shown(self) -> Series:
        """The series that stands for all."""
        return self.series[0]


def collapse(series: Iterable[Series]) -> tuple[Group, ...]:
    """Group equal series, in the order in which the first of each group comes."""
    groups: dict[Hashable, list[Series]] = {}
    for one in series:
        groups.setdefault(_reading(one), []).append(one)
    return tuple(Group(series=tuple(members)) for members in groups.values())


def _reading(series: Series) -> Hashable:
    points = tuple((p.version, p.outcome, p.verdict) for p in series.points)
    transitions = tuple((t.kind, t.after, t.version, t.untested, t.since_api) for t in series.transitions)
    return series.issue, series.stack, series.axis, series.state, points, transitions
