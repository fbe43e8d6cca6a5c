"""The health of GPUs, asked in the background and remembered for a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from orchestrator.devices.port import Health, Unit

if TYPE_CHECKING:
    from collections.abc import Callable

VALID = 600.0
"""Seconds for which an answer is good; a GPU that turned bad in between shows in the cell that meets it."""


class Gate:
    """Asks about each GPU on a thread of its own, so that one whose tool hangs keeps nobody waiting.

    `check` returns what the tool says; it is called for one GPU at a time per GPU.
    """

    def __init__(
        self, check: Callable[[Unit], Health], *, clock: Callable[[], float] = time.monotonic, valid: float = VALID
    ) -> None:
        self._check = check
        self._clock = clock
        self._valid = valid
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Health, float]] = {}
        self._asked: set[str] = set()

    def health(self, unit: Unit) -> Health | None:
        """Return what is known of a GPU, None until the first answer comes; asks again where that was long ago."""
        with self._lock:
            health, moment = self._known.get(unit.id, (None, 0.0))
            stale = health is None or self._clock() - moment > self._valid
            if stale and unit.id not in self._asked:
                self._asked.add(unit.id)
                threading.Thread(target=self._ask, args=(unit,), name=f"health-{unit.id}", daemon=True).start()
            return health

    def known(self, unit: Unit) -> Health | None:
        """Return the last answer about a GPU without asking."""
        with self._lock:
            return self._known.get(unit.id, (None, 0.0))[0]

    def _ask(self, unit: Unit) -> None:
        health = Health(reason="its health check failed")
        try:
            health = self._check(unit)
        finally:
            with self._lock:
                self._known[unit.id] = health, self._clock()
                self._asked.discard(unit.id)
