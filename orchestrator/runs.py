"""The reports of runs, kept in the store under the moment they began."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.codec import from_json, to_json
from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.files import write_atomic
from orchestrator.model import Report
from orchestrator.pinpoint import with_news

FORMAT = 1


def save(root: Path, report: Report) -> Report:
    """Keep a run's report in a store; returns it with what is different from the run before."""
    started = report.provenance.started or datetime.now(UTC)
    name = started.strftime("%Y%m%dT%H%M%S.%fZ")
    report = _since_the_last(root, report, name)
    document = {"format": FORMAT, "report": to_json(report)}
    write_atomic(root / "runs" / f"{name}.json", json.dumps(document).encode())
    return report


def names(root: Path) -> tuple[str, ...]:
    """Return the names of the runs in a store, the oldest first."""
    return tuple(sorted(path.stem for path in (root / "runs").glob("*.json")))


def recorded(root: Path, name: str | None) -> Report:
    """Read the report of a run by its name or the path of its file, or of the last one.

    Raises:
        ConfigError: there is no such run, or it was written by another version of this program.
        EnvironmentUnusableError: the file cannot be read.
    """
    if name is not None and (name.endswith(".json") or "/" in name):
        return _read(Path(name))
    runs = names(root)
    if not runs:
        raise ConfigError(f"there is no run in {root}", hint="`orchestrator run` makes one; --store says where")
    if name is not None and name not in runs:
        raise ConfigError(f"there is no run {name!r} in {root}", hint=f"the last ones: {', '.join(runs[-3:])}")
    return _read(_path(root, name or runs[-1]))


def _since_the_last(root: Path, report: Report, name: str) -> Report:
    # Not the run itself, which is there already where shards are merged once more.
    runs = [one for one in names(root) if one < name]
    if not runs:
        return report
    try:
        return with_news(report, _read(_path(root, runs[-1])))
    except ConfigError as error:
        notice = f"what changed since the run {runs[-1]} is not known: {error}"
        return replace(report, notices=(*report.notices, notice))


def _path(root: Path, name: str) -> Path:
    return root / "runs" / f"{name}.json"


def _read(path: Path) -> Report:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}", hint="a run is a file in the store's `runs`") from None
    except OSError as error:
        raise EnvironmentUnusableError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not a recorded run: {error}") from None
    try:
        if document["format"] != FORMAT:
            raise ConfigError(f"{path} has format {document['format']}, this version reads {FORMAT}")
        return from_json(Report, document["report"])
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="run again: what was measured is kept") from None
