"""What was ever measured, on disk: one file of JSON lines per environment, and a directory per attempt.

<root>/CACHEDIR.TAG
<root>/results/<aa>/<environment key>.jsonl
<root>/attempts/<attempt>/attempt.json, log.txt, out/…
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from orchestrator.codec import from_json, to_json
from orchestrator.errors import EnvironmentUnusableError, OrchestratorError
from orchestrator.files import write_atomic
from orchestrator.model import Attempt, Import, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FORMAT = 1

_KEY = re.compile(r"[0-9a-f]{8,128}")
_ATTEMPT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Results and caches; safe to delete, slow to make again.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A result of an earlier attempt."""

    attempt: str
    result: ProbeResult
    imports: tuple[Import, ...] = ()


class Store:
    """Results by what was installed and which probe ran. Several processes may write at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def lookup(self, environment: str, probes: Mapping[str, str]) -> dict[str, tuple[Recorded, ...]]:
        """Return all that is known of probes (node id to key) in an environment (by key), the oldest first.

        Raises:
            OrchestratorError: a newer version of this program wrote the file.
        """
        if not probes:
            return {}
        wanted = {key: probe for probe, key in probes.items()}
        found: dict[str, list[Recorded]] = {}
        reader = _Reader()
        for line in self._lines(environment):
            probe = wanted.get(line.get("key", ""))
            if probe is None:
                continue
            try:
                found.setdefault(probe, []).append(reader.read(line))
            except ValueError:  # damaged, so not known: it is measured again
                found.pop(probe, None)
        return {probe: tuple(recorded) for probe, recorded in found.items()}

    def record(self, environment: str, probes: Mapping[str, str], attempt: Attempt) -> None:
        """Keep an attempt, and those of its results that a second run would find again.

        Raises:
            EnvironmentUnusableError: the disk does not take it.
        """
        measured = [result for result in attempt.results if result.outcome.measured and result.probe in probes]
        lines = [
            {
                "format": FORMAT,
                "key": probes[result.probe],
                **to_json(Recorded(attempt=attempt.id, result=result, imports=attempt.imports)),
            }
            for result in measured
        ]
        try:
            self._tag()
            directory = self.attempt_directory(attempt.id)
            text = json.dumps({"format": FORMAT, **to_json(attempt)}, indent=1, allow_nan=False)
            write_atomic(directory / "attempt.json", text.encode())
            if lines:
                _append(self._path(environment), lines)
        except OSError as error:
            raise EnvironmentUnusableError(
                f"cannot write results to {self.root}: {error.strerror or error}",
                hint="free some space or choose another place with --store",
            ) from None

    def attempt_directory(self, attempt: str) -> Path:
        """Return where an attempt keeps its files; it may not exist yet."""
        if not _ATTEMPT.fullmatch(attempt):
            raise ValueError(f"{attempt!r} is no attempt id")
        return self.root / "attempts" / attempt

    def read_attempt(self, attempt: str) -> Attempt | None:
        """Return a recorded attempt; None if there is none, or it is damaged.

        Raises:
            OrchestratorError: a newer version of this program wrote it.
        """
        path = self.attempt_directory(attempt) / "attempt.json"
        try:
            data = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None
        _check_format(data, path)
        try:
            return from_json(Attempt, data)
        except ValueError:
            return None

    def _path(self, environment: str) -> Path:
        if not _KEY.fullmatch(environment):
            raise ValueError(f"{environment!r} is no environment key")
        return self.root / "results" / environment[:2] / f"{environment}.jsonl"

    def _lines(self, environment: str) -> Iterator[dict[str, Any]]:
        path = self._path(environment)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise EnvironmentUnusableError(f"cannot read {path}: {error.strerror}") from None
        for text in data.split(b"\n"):
            try:
                line = json.loads(text)
            except ValueError:  # the last line of a process that was killed while it wrote
                continue
            if isinstance(line, dict):
                _check_format(line, path)
                yield line

    def _tag(self) -> None:
        tag = self.root / "CACHEDIR.TAG"
        if not tag.exists():
            write_atomic(tag, _TAG)


class _Reader:
    """Reads the lines of one file. The results of an attempt all carry its imports: they are read once."""

    def __init__(self) -> None:
        self._written: object = []
        self._imports: tuple[Import, ...] = ()

    def read(self, line: dict[str, Any]) -> Recorded:
        """Return what a line holds.

        Raises:
            ValueError: it is damaged.
        """
        written = line.pop("imports", [])
        recorded = from_json(Recorded, line)
        if written != self._written:
            self._imports = from_json(tuple[Import, ...], written)
            self._written = written
        return replace(recorded, imports=self._imports)


def _append(path: Path, lines: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(json.dumps(line, allow_nan=False).encode() + b"\n" for line in lines)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        # Released when the file is closed. Without it, a repair could cut off what another process just wrote.
        fcntl.flock(file, fcntl.LOCK_EX)
        whole = _whole(file.fileno())
        os.ftruncate(file.fileno(), whole)
        written = 0
        while written < len(data):
            written += os.write(file.fileno(), data[written:])
        os.fsync(file.fileno())


def _whole(descriptor: int) -> int:
    """Return the length of a file without a last line that was cut."""
    size = os.fstat(descriptor).st_size
    end = size
    while end:
        start = max(0, end - 65536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _check_format(data: object, path: Path) -> None:
    if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
        raise OrchestratorError(
            f"{path} has format {data['format']}; this version reads up to {FORMAT}",
            hint="upgrade matrix-orchestrator, or use another --store",
        )
