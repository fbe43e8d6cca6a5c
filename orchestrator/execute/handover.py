"""What every runtime hands to the payload: the description of the job, and an empty place for the results."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from orchestrator.model import Device

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.execute.port import Job

IMPORT_TIMEOUT = 120

SYSTEM_PACKAGES = {
    Device.XPU: (
        "intel-level-zero-gpu",
        "intel-opencl-icd",
        "level-zero",
        "libigc1",
        "libigc2",
        "libigdgmm12",
        "libze-intel-gpu1",
        "libze1",
    ),
}
"""Debian packages that a device's libraries come from in an image, under the names of all driver releases."""

TOOLKITS = {Device.XPU: "xpu", Device.CUDA: "cuda"}
"""The word of a package's `version` module that says which toolkit it was built with."""


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
            "system_packages": SYSTEM_PACKAGES.get(job.device, ()),
            "toolkit": TOOLKITS.get(job.device, ""),
        },
        indent=1,
    )


def hand_over(job: Job, description: str) -> Path:
    """Write the description to the job's directory, make one for the results; return the description's path."""
    directory = job.directory / "in"
    directory.mkdir(parents=True, exist_ok=True)
    _fresh(job.directory / "out")
    path = directory / "job.json"
    path.write_text(description, encoding="utf-8")
    # The payload may run as another user than this process.
    directory.chmod(0o755)
    path.chmod(0o644)
    return path


def _fresh(directory: Path) -> None:
    """Make an empty directory, whatever an earlier try of the attempt left there."""
    if directory.is_symlink():
        directory.unlink()
    elif directory.exists():
        shutil.rmtree(directory)
    directory.mkdir()
