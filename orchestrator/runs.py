"""The reports of runs, kept in the store under the moment they began."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from orchestrator.codec import from_json, to_json
from orchestrator.errors import ConfigError
from orchestrator.files import write_atomic
from orchestrator.model import Report

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1


def save(root: Path, report: Report) -> str:
    """Keep a run's report in a store; returns the name of the run."""
    started = report.provenance.started or datetime.now(UTC)
    name = started.strftime("%Y%m%dT%H%M%S.%fZ")
    document = {"format": FORMAT, "report": to_json(report)}
    write_atomic(root / "runs" / f"{name}.json", json.dumps(document).encode())
    return name


def recorded(root: Path, name: str | None) -> Report:
    """Read the report of a run by its name, or of the last one.

    Raises:
        ConfigError: there is no such run, or it was written by another version of this program.
    """
    runs = sorted(path.stem for path in (root / "runs").glob("*.json"))
    if not runs:
        raise ConfigError(f"there is no run in {root}", hint="`orchestrator run` makes one; --store says where")
    if name is not None and name not in runs:
        raise ConfigError(f"there is no run {name!r} in {root}", hint=f"the last ones: {', '.join(runs[-3:])}")
    path = root / "runs" / f"{name or runs[-1]}.json"
    try:
        document = json.loads(path.read_bytes())
        if document["format"] != FORMAT:
            raise ConfigError(f"{path} has format {document['format']}, this version reads {FORMAT}")
        return from_json(Report, document["report"])
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="run again: what was measured is kept") from None
