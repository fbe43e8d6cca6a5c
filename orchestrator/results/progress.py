"""`progress.jsonl`: which probe ran when and in which process, and how processes died."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """How a worker died: `status` as `subprocess` gives it (negative: signal), None where it was lost."""

    status: int | None
    time: float
    traceback: str | None = None
    """Stack traces, where the worker was ended at its hard deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one probe."""

    worker: int
    started: float
    set_up: bool = False
    finished: float | None = None
    oom_kills: int = 0
    """Processes that the kernel killed for want of memory meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a session did, as far as it came."""

    collected: tuple[str, ...] | None = None
    """Every probe that was found; None where collection never ended."""
    runs: Mapping[str, Run] = field(default_factory=dict)
    deaths: Mapping[int, Death] = field(default_factory=dict)
    """Workers that died, by process id."""

    def running(self, probe: str) -> Run | None:
        """Return the run of a probe that started and did not finish."""
        run = self.runs.get(probe)
        return run if run is not None and run.finished is None else None

    def death(self, probe: str) -> Death | None:
        """Return how the process died in which a probe was running."""
        run = self.running(probe)
        return self.deaths.get(run.worker) if run is not None else None


def read_progress(data: bytes | None) -> Progress:
    """Read a progress file; lines that are cut or nonsense are passed over, for a crash may leave one."""
    collected: dict[str, None] | None = None
    runs: dict[str, Run] = {}
    deaths: dict[int, Death] = {}
    for line in (data or b"").split(b"\n"):
        try:
            record = json.loads(line)
            phase, time = record["phase"], float(record["time"])
            if phase == "collected":
                collected = (collected or {}) | dict.fromkeys(str(probe) for probe in record["probes"])
            elif phase == "worker-exit":
                deaths[int(record["worker"])] = _death(record, time)
            elif "probe" in record:
                _advance(runs, record, phase, time)
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return Progress(collected=None if collected is None else tuple(collected), runs=runs, deaths=deaths)


def _death(record: Mapping[str, Any], time: float) -> Death:
    status, hang = record["status"], record.get("hang")
    return Death(status=None if status is None else int(status), time=time, traceback=str(hang) if hang else None)


def _advance(runs: dict[str, Run], record: Mapping[str, Any], phase: str, time: float) -> None:
    probe = str(record["probe"])
    if phase == "start":
        runs[probe] = Run(worker=int(record["pid"]), started=time)
    elif probe in runs and phase == "setup-done":
        runs[probe] = replace(runs[probe], set_up=True)
    elif probe in runs and phase == "finish":
        runs[probe] = replace(runs[probe], finished=time, oom_kills=int(record.get("oom_kills", 0)))
