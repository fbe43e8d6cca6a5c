"""What `xpu-smi` says of one GPU, asked so that a tool that hangs is an answer too."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from orchestrator.devices.port import Health

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

TIMEOUT = 30.0
"""Seconds. A healthy tool takes one or two; on a wedged GPU it may never come back (pytorch/pytorch#155194)."""

_TICK = 0.1
_KILLED = 5.0
"""Seconds that a killed tool has to go; one that waits for the GPU in the kernel does not."""

_MOST = 1024 * 1024
_FIRMWARE = re.compile(r"(.+)_firmware_version")
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


class _HangingError(Exception):
    """The tool did not end in time."""


def discover(
    address: str, *, tool: str = "xpu-smi", timeout: float = TIMEOUT, cancel: Event | None = None
) -> Health:
    """Return the health and firmware of the GPU at a PCI address; unchecked where the tool is not installed.

    Whoever waits no longer sets `cancel`, and the tool is ended as if its time were up.
    """
    program = shutil.which(tool)
    if program is None:
        return Health(checked=False)
    try:
        status, output = _bounded([program, "discovery", "-d", address, "-j"], timeout, cancel)
    except _HangingError:
        return Health(reason=f"xpu-smi does not answer within {timeout:g} s: the GPU or its driver hangs")
    except OSError as error:
        return Health(reason=f"xpu-smi cannot be run: {error.strerror}")
    return read(output, address, status)


def read(output: bytes, address: str, status: int = 0) -> Health:
    """Return what an answer of the tool means; whatever does not say that the GPU is well is a reason."""
    try:
        found = _only(json.loads(output))
    except (ValueError, RecursionError):
        said = output.decode("utf-8", "replace").strip().splitlines()
        return Health(reason=f"xpu-smi ended with status {status}: {said[-1][:200] if said else 'no output'}")
    if found is None or "error" in found or status != 0:
        said_so = (found or {}).get("error") or f"status {status}"
        return Health(reason=f"xpu-smi does not know the GPU: {str(said_so)[:200]}")
    seen = str(found.get("pci_bdf_address", address)).lower()
    if seen != address:
        return Health(reason=f"xpu-smi was asked for {address} and tells of {seen}")
    state = str(found.get("device_state", "normal")).strip().lower()
    return Health(
        reason=None if state == "normal" else f"xpu-smi: its state is {state[:80]}, not normal",
        firmware=_firmware(found),
    )


def _only(answer: Any) -> dict[str, Any] | None:  # noqa: ANN401 - whatever JSON says
    """Return the device that an answer is about; some versions wrap it in a list."""
    if isinstance(answer, dict) and isinstance(answer.get("device_list"), list):
        answer = answer["device_list"]
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    return answer if isinstance(answer, dict) else None


def _firmware(found: dict[str, Any]) -> str | None:
    """Return every firmware with its version: "gfx DG02_1.3267, gfx_data 0x12d"."""
    versions = {
        match[1]: str(value).strip()
        for key, value in found.items()
        if (match := _FIRMWARE.fullmatch(key)) and isinstance(value, str | int)
    }
    known = [
        f"{name} {version[:60]}"
        for name, version in sorted(versions.items())
        if version.lower() not in ("", "unknown")
    ]
    return ", ".join(known) or None


def _bounded(command: Sequence[str], timeout: float, cancel: Event | None) -> tuple[int, bytes]:
    """Run a command for so many seconds at most and return its status and output.

    Raises:
        OSError: it cannot be started.
    """
    # A file, not a pipe: whoever is left of it holding a pipe open would keep us.
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        try:
            _wait(process, timeout, cancel)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_KILLED)
        output.seek(0)
        return process.returncode, output.read(_MOST)


def _wait(process: subprocess.Popen[bytes], timeout: float, cancel: Event | None) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            process.wait(_TICK)
        except subprocess.TimeoutExpired:
            if time.monotonic() < deadline and not (cancel and cancel.is_set()):
                continue
            raise _HangingError from None
        return
