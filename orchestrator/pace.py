"""How fast environments were made on this host before, for estimates."""

from __future__ import annotations

import json
import statistics
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from orchestrator.files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orchestrator.execute.port import Step

_KEPT = 100
_ENOUGH = 3

# (seconds per step, seconds per byte of wheel), until something was measured: from two cores and 200 MB/s.
_EXPERIENCE = {"docker": (4.0, 30e-9), "venv": (1.0, 10e-9)}


class Pace:
    """The last steps that a runtime prepared: bytes of wheels, and seconds. A file that may go at any time."""

    def __init__(self, path: Path, runtime: str) -> None:
        self._path = path
        self._runtime = runtime
        self._lock = threading.Lock()

    def note(self, size: int, seconds: float) -> None:
        """Remember how long a step took, if it can be written down."""
        with self._lock, suppress(OSError):  # an estimate is not worth a run
            kept = self._read()
            kept[self._runtime] = [*kept.get(self._runtime, []), (size, seconds)][-_KEPT:]
            write_atomic(self._path, json.dumps(kept).encode())

    def expect(self) -> tuple[float, float]:
        """Return the seconds that a step takes in any case, and the seconds that each byte adds."""
        measured = self._read().get(self._runtime, [])
        sizes = [size for size, _ in measured]
        if len(measured) < _ENOUGH or len(set(sizes)) == 1:
            return _EXPERIENCE.get(self._runtime, _EXPERIENCE["docker"])
        slope, intercept = statistics.linear_regression(sizes, [seconds for _, seconds in measured])
        return max(0.0, intercept), max(0.0, slope)

    def estimate(self) -> Callable[[Step], float]:
        """Return a function that says how many seconds a step may take."""
        each, per_byte = self.expect()
        return lambda step: each + per_byte * step.size

    def _read(self) -> dict[str, list[tuple[int, float]]]:
        try:
            kept = json.loads(self._path.read_bytes())
            return {name: [(int(size), float(took)) for size, took in samples] for name, samples in kept.items()}
        except (OSError, ValueError, OverflowError, TypeError, AttributeError):  # not there yet, or damaged
            return {}
