"""Series written as letters, one per version, and reports of them: "gbb?g"."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from orchestrator.model import (
    CellRow,
    Device,
    Finding,
    Outcome,
    Pin,
    Point,
    Provenance,
    Report,
    Series,
    Setting,
    Surprise,
    Topic,
    Verdict,
)
from orchestrator.pinpoint import newest_known, state, transitions
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTCOMES = {
    "g": (Outcome.PASS, Verdict.GOOD),
    "b": (Outcome.FAIL, Verdict.BAD),
    "c": (Outcome.CRASH, Verdict.BAD),
    "a": (Outcome.ABSENT, Verdict.UNKNOWN),
    "e": (Outcome.ERROR, Verdict.UNKNOWN),
    "d": (Outcome.NO_DEVICE, Verdict.UNKNOWN),
    "f": (Outcome.BUILD_FAILED, Verdict.UNKNOWN),
    "i": (Outcome.INFRA, Verdict.UNKNOWN),
    "n": (Outcome.NOT_RUN, Verdict.UNKNOWN),
}

HISTORIES = st.text(alphabet="".join(OUTCOMES), min_size=1, max_size=8)
"""Of one series."""

MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def series(letters: str, *, issue: str = "i", stack: str = "s", axis: str = "lib", **more: Any) -> Series:
    """Return a series of the versions 1.0, 2.0, …, or of those given as `versions`."""
    versions = more.pop("versions", None) or [f"{number}.0" for number in range(1, len(letters) + 1)]
    fixed: Mapping[str, str] = more.pop("fixed", {})
    where = "-".join([stack, *fixed.values()])
    points = tuple(
        Point(
            version=Version(version),
            cell=f"{where}-{axis}{version}".replace("+", "-"),
            outcome=OUTCOMES[letter][0],
            verdict=OUTCOMES[letter][1],
            signature="It: broke" if letter in "bc" else None,
        )
        for version, letter in zip(versions, letters, strict=True)
    )
    return Series(
        issue=issue,
        stack=stack,
        axis=axis,
        fixed=fixed,
        points=points,
        transitions=transitions(points),
        state=state(points),
        **more,
    )


def report(*members: Series, findings: tuple[Finding, ...] = (), **more: Any) -> Report:
    """Return a report of series, whose cells have nothing installed but what is under test."""
    rows = {
        point.cell: CellRow(
            cell=point.cell, stack=one.stack, python="3.11", versions={one.axis: str(point.version)}
        )
        for one in members
        for point in one.points
    }
    pins = {
        row.cell: tuple(Pin(name=name, version=version) for name, version in row.versions.items())
        for row in rows.values()
    }
    given = {
        "series": members,
        "findings": findings,
        "cells": tuple(rows.values()),
        "issues": {one.issue: Topic(title=f"About {one.issue}") for one in members},
        "stacks": {one.stack: Setting(device=Device.CPU) for one in members},
        "provenance": Provenance(tool="matrix-orchestrator 0", matrix="0" * 12, started=MOMENT),
        "environments": pins,
        "distributions": {one.axis: canonicalize_name(one.axis) for one in members},
    }
    return Report(**{**given, **more})


def finding(one: Series, kind: Surprise = Surprise.REGRESSION, **more: Any) -> Finding:
    """Return a finding about the end of a series."""
    newest = newest_known(one.points)
    assert newest is not None
    given = {
        "kind": kind,
        "issue": one.issue,
        "stack": one.stack,
        "axis": one.axis,
        "fixed": one.fixed,
        "state": one.state,
        "expected": None,
        "version": newest.version,
        "since": None,
    }
    return Finding(**{**given, **more})
