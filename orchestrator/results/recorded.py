"""What an attempt measured, and the line that the store keeps of it: read in one go, straight into values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from sys import intern

import msgspec

from orchestrator.model import NO_METRICS, Import, Origin, Outcome, ProbeResult

FORMAT = 2
"""Of a line: 1 was a line per result, 2 is a line per attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What an earlier attempt measured: results by node id."""

    origin: Origin
    results: Mapping[str, ProbeResult]
    imports: tuple[Import, ...] = ()


class _Result(msgspec.Struct, gc=False):
    outcome: Outcome
    signature: str | None = None
    message: str | None = None
    duration: float | None = None
    metrics: dict[str, float] = {}


class _Line(msgspec.Struct, gc=False):
    format: int
    origin: Origin
    results: dict[str, _Result]
    imports: tuple[Import, ...] = ()


_LINE = msgspec.json.Decoder(_Line)


def read_line(text: bytes, wanted: Mapping[str, str]) -> Recorded | None:
    """Return what a line of this format holds of the probes that are wanted (node id by key).

    None for a line that is anything but usual: another format, damage, a number that JSON has no word for. The
    codec reads what can be read of it, and takes longer.
    """
    try:
        line = _LINE.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if line.format != FORMAT or line.origin.started.tzinfo is not UTC:
        return None
    results = {}
    for key, one in line.results.items():
        probe = wanted.get(key)
        if probe is not None:
            signature = one.signature
            results[probe] = ProbeResult(
                probe=probe,
                outcome=one.outcome,
                # Of a million results a few thousand differ in it.
                signature=signature and intern(signature),
                message=one.message,
                duration=one.duration,
                metrics=one.metrics or NO_METRICS,
            )
    return Recorded(origin=line.origin, results=results, imports=line.imports)
