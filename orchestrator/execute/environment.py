"""The environment variables that probes see: fixed ones, and those of the matrix. Nothing of the host's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model import Device

if TYPE_CHECKING:
    from collections.abc import Mapping

THREADS = "2"
"""Fixed, so that results do not depend on how many cores a host has."""


def probe_environment(device: Device, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what probes on a device get, the matrix's own variables last."""
    fixed = {
        "LANG": "C.UTF-8",
        # A library that ends the process at import loses what it said last in a buffered pipe.
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": THREADS,
    }
    if device is Device.XLA:
        fixed["PJRT_DEVICE"] = "CPU"
    return fixed | dict(environment)


def user_environment(home: str) -> dict[str, str]:
    """Return who the probe is to itself: compilers ask, and a numeric user has no passwd entry to answer from."""
    return {"HOME": home, "USER": "probe", "LOGNAME": "probe"}
