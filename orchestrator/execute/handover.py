"""What every runtime hands to the payload: the job description and the environment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from orchestrator.model import Device

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from orchestrator.execute.port import Job

IMPORT_TIMEOUT = 120
THREADS = "2"
"""Fixed, so that results do not depend on how many cores a host has."""


def describe(job: Job, *, probes: str, runner: str) -> str:
    """Return the job description; the two paths are as the payload sees them."""
    return json.dumps(
        {
            "attempt": job.attempt,
            "pins": {d.name: str(d.version) for d in job.lock.distributions},
            "modules": [list(module) for module in job.modules],
            "nodeids": list(job.nodeids),
            "probe_timeout": job.limits.probe_timeout,
            "import_timeout": IMPORT_TIMEOUT,
            "probes": probes,
            "runner": runner,
        },
        indent=1,
    )


def hand_over(job: Job, description: str) -> Path:
    """Write the description to the job's directory and make an empty one for the results; return the first."""
    directory = job.directory / "in"
    directory.mkdir(parents=True, exist_ok=True)
    (job.directory / "out").mkdir(exist_ok=True)
    path = directory / "job.json"
    path.write_text(description, encoding="utf-8")
    # The payload may run as another user than this process.
    directory.chmod(0o755)
    path.chmod(0o644)
    return path


def variables(job: Job, *, home: str) -> Mapping[str, str]:
    """Return the environment that probes see, nothing of the host's in it."""
    fixed = {
        "HOME": home,
        "USER": "probe",
        "LOGNAME": "probe",
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": THREADS,
    }
    if job.device is Device.XLA:
        fixed["PJRT_DEVICE"] = "CPU"
    return {**fixed, **job.environment}
