"""Attempts from one store to another, with the results that are used again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError
from orchestrator.execute.artifacts import harvest_directory, read_plain
from orchestrator.files import write_atomic
from orchestrator.model import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orchestrator.results import Recorded, Store

_LOG = "log.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a store knows of a cell: under which keys, from which attempts (by id)."""

    cell: str
    environment: str
    probes: Mapping[str, str]
    """Node id to key."""
    attempts: tuple[str, ...]


def carry(records: Iterable[tuple[Store, Record]], target: Store) -> int:
    """Bring the attempts of records (each with the store that has it) to a store; returns how many are new there.

    They are added in the order in which they began, whatever the order of the records; those that are there
    already stay as they are.

    Raises:
        ConfigError: a store does not have an attempt that it should have.
        EnvironmentUnusableError: the disk does not take it.
    """
    found = [one for store, record in records for one in _attempts(store, record)]
    found.sort(key=lambda one: (one.attempt.origin.started, one.attempt.origin.attempt, one.environment))
    return sum(_add(one, target) for one in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Carried:
    attempt: Attempt
    environment: str
    probes: Mapping[str, str]
    directory: Path


def _attempts(store: Store, record: Record) -> Iterator[_Carried]:
    try:
        results = {one.origin.attempt: one for one in store.lookup(record.environment, record.probes)}
        directories = {name: store.attempt_directory(name) for name in record.attempts}
    except ValueError as error:  # a name that no store gives
        raise ConfigError(f"{store.root}: {error}") from None
    for name, directory in directories.items():
        attempt = store.read_attempt(name) or _restored(record.cell, results.get(name))
        if attempt is None:
            raise ConfigError(
                f"{store.root} has nothing of attempt {name}", hint="the directory is not whole: copy it again"
            )
        yield _Carried(attempt=attempt, environment=record.environment, probes=record.probes, directory=directory)


def _restored(cell: str, recorded: Recorded | None) -> Attempt | None:
    """Return an attempt whose own files are gone, from its results."""
    if recorded is None:
        return None
    results = tuple(recorded.results.values())
    return Attempt(cell=cell, origin=recorded.origin, imports=recorded.imports, results=results)


def _add(one: _Carried, target: Store) -> bool:
    """Add an attempt to a store; tell whether it was not there."""
    name = one.attempt.origin.attempt
    known = {there.origin.attempt: there.results for there in target.lookup(one.environment, one.probes)}
    wanted = {r.probe for r in one.attempt.results if r.outcome.measured and r.probe in one.probes}
    if wanted <= known.get(name, {}).keys() and target.read_attempt(name) is not None:
        return False
    directory = target.attempt_directory(name)
    # Whoever wrote these may have left anything in their place.
    harvest = harvest_directory(one.directory / "out")
    files = {f"out/{file}": data for file, data in harvest.taken.items()}
    if (log := read_plain(one.directory / _LOG)) is not None:
        files[_LOG] = log
    for file, data in files.items():
        write_atomic(directory / file, data)
    # Last: an attempt that is recorded is whole.
    target.record(one.environment, one.probes, one.attempt)
    return True
