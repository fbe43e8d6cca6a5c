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
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchestrator.codec import from_json, to_json
from orchestrator.errors import EnvironmentUnusableError, OrchestratorError
from orchestrator.files import write_atomic
from orchestrator.model import Attempt, ProbeResult
from orchestrator.results.recorded import FORMAT, Recorded, read_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_KEY = re.compile(r"[0-9a-f]{8,128}")
_ORIGIN = ("runtime", "base", "started", "duration")
_ATTEMPT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Results and caches; safe to delete, slow to make again.\n"


class Store:
    """Results by what was installed and which probe ran. Several processes may write at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def lookup(self, environment: str, probes: Mapping[str, str]) -> tuple[Recorded, ...]:
        """Return what attempts came to for probes (node id to key) in an environment (by key), the oldest first.

        Raises:
            OrchestratorError: a newer version of this program wrote the file.
        """
        if not probes:
            return ()
        wanted = {key: probe for probe, key in probes.items()}
        found: dict[str, Recorded] = {}
        path = self._path(environment)
        for text in _lines(path):
            try:
                recorded = read_line(text, wanted) or self._read(text, path, wanted)
            except ValueError:  # damaged, so not known: it is measured again
                continue
            if recorded is not None and recorded.results:
                name = recorded.origin.attempt
                earlier = found.get(name)
                found[name] = recorded if earlier is None else _joined(earlier, recorded)
        return tuple(found.values())

    def record(self, environment: str, probes: Mapping[str, str], attempt: Attempt) -> None:
        """Keep an attempt, and those of its results that a second run would find again.

        Raises:
            EnvironmentUnusableError: the disk does not take it.
        """
        measured = {
            probes[result.probe]: result
            for result in attempt.results
            if result.outcome.measured and result.probe in probes
        }
        recorded = Recorded(origin=attempt.origin, results=measured, imports=attempt.imports)
        try:
            self._tag()
            directory = self.attempt_directory(attempt.origin.attempt)
            text = json.dumps({"format": FORMAT, **to_json(attempt)}, indent=1, allow_nan=False)
            write_atomic(directory / "attempt.json", text.encode())
            if measured:
                # In the file results stand by key, for a node id does not tell what the probe was then.
                _append(self._path(environment), {"format": FORMAT, **to_json(recorded)})
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

    def _read(self, text: bytes, path: Path, wanted: Mapping[str, str]) -> Recorded | None:
        """Return what any line holds of the probes that are wanted (by key), None for nothing.

        Raises:
            ValueError: the line is damaged.
            OrchestratorError: a newer version of this program wrote it.
        """
        line = json.loads(text)
        if not isinstance(line, dict):
            return None
        _check_format(line, path)
        if "result" in line:
            line = self._upgraded(line)
        written = line.get("results")
        if not isinstance(written, dict):
            raise ValueError("a line without results")  # noqa: TRY004 - damage, whatever its kind
        results = {}
        for key in wanted.keys() & written.keys():
            with suppress(ValueError):  # this one is damaged, the others are not
                results[wanted[key]] = from_json(ProbeResult, written[key])
        return replace(from_json(Recorded, {**line, "results": {}}), results=results) if results else None

    def _upgraded(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return a line of format 1 as one of format 2; where it comes from is kept with the attempt."""
        try:
            attempt = json.loads((self.attempt_directory(str(line.get("attempt"))) / "attempt.json").read_bytes())
            origin = {"attempt": attempt["id"], **{key: attempt[key] for key in _ORIGIN}}
        except (OSError, ValueError, KeyError, TypeError):
            raise ValueError("a line without its attempt") from None
        return {"origin": origin, "imports": line.get("imports", []), "results": {line.get("key"): line["result"]}}

    def _path(self, environment: str) -> Path:
        if not _KEY.fullmatch(environment):
            raise ValueError(f"{environment!r} is no environment key")
        return self.root / "results" / environment[:2] / f"{environment}.jsonl"

    def _tag(self) -> None:
        tag = self.root / "CACHEDIR.TAG"
        if not tag.exists():
            write_atomic(tag, _TAG)


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a file, the last of which may be cut: its process was killed while it wrote."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a third of the time of pathlib's
            data = file.read()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise EnvironmentUnusableError(f"cannot read {path}: {error.strerror}") from None
    # Mostly it is one line, which need not be copied.
    return [line for line in data.split(b"\n") if line] if data.count(b"\n", 0, -1) else [data]


def _joined(one: Recorded, other: Recorded) -> Recorded:
    """Return what two lines say of the same attempt."""
    return replace(one, results={**one.results, **other.results})


def _append(path: Path, line: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(line, allow_nan=False).encode() + b"\n"
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
