import json
import os
import time
from pathlib import Path

import pytest

from orchestrator.devices.xpu_smi import discover, read

ADDRESS = "0000:03:00.0"
ANSWER = {
    "device_id": 0,
    "device_name": "Intel(R) Arc(TM) B580 Graphics",
    "device_state": "normal",
    "driver_version": "1.6.32567",
    "gfx_data_firmware_name": "GFX_DATA",
    "gfx_data_firmware_version": "0x12d",
    "gfx_firmware_version": "DG02_1.3267",
    "gfx_pscbin_firmware_version": "unknown",
    "pci_bdf_address": ADDRESS,
}


def tool(tmp_path, monkeypatch, script):
    """Put a program where `xpu-smi` is looked for."""
    path = tmp_path / "xpu-smi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return path


def test_without_the_tool_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = discover(ADDRESS)
    assert (found.reason, found.firmware, found.checked) == (None, None, False)


def test_a_gpu_that_is_well(tmp_path, monkeypatch):
    (tmp_path / "answer").write_text(json.dumps(ANSWER))
    tool(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked; cat {tmp_path}/answer')
    found = discover(ADDRESS)
    assert (found.reason, found.checked) == (None, True)
    assert found.firmware == "gfx DG02_1.3267, gfx_data 0x12d"
    assert (tmp_path / "asked").read_text().split() == ["discovery", "-d", ADDRESS, "-j"]


def test_the_tool_gets_nothing_of_this_process_s_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("ZE_AFFINITY_MASK", "7")
    tool(tmp_path, monkeypatch, f"env > {tmp_path}/env; echo '{{}}'")
    discover(ADDRESS)
    assert "ZE_" not in (tmp_path / "env").read_text()


@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: {"device_list": [one]}])
def test_an_answer_in_a_list(wrap):
    assert read(json.dumps(wrap(ANSWER)).encode(), ADDRESS).firmware == "gfx DG02_1.3267, gfx_data 0x12d"


@pytest.mark.parametrize("state", ["survivability", "Wedged", "", None, 7])
def test_every_other_state_is_a_reason(state):
    found = read(json.dumps(ANSWER | {"device_state": state}).encode(), ADDRESS)
    assert found.reason.endswith("not normal")


@pytest.mark.parametrize(
    ("output", "status", "reason"),
    [
        (b"", 0, "ended with status 0: no output"),
        (b"Segmentation fault\n", 139, "status 139: Segmentation fault"),
        (b"[" * 100_000, 0, "ended with status 0"),
        (b'{"error": "device not found"}', 5, "does not know the GPU: device not found"),
        (b'{"error": ""}', 0, "does not know the GPU"),
        (b"[]", 0, "does not know the GPU"),
        (b"{}", 3, "status 3"),
        (b'{"pci_bdf_address": "0000:04:00.0"}', 0, "was asked for 0000:03:00.0 and tells of 0000:04:00.0"),
    ],
)
def test_an_answer_that_is_none(output, status, reason):
    assert reason in read(output, ADDRESS, status).reason


def test_a_tool_that_hangs_is_an_answer_and_nothing_of_it_stays(tmp_path, monkeypatch):
    # It ignores what it can, and so does a child that keeps its output open.
    tool(tmp_path, monkeypatch, f"trap '' INT TERM HUP; sleep 300 & echo $! > {tmp_path}/child; wait; sleep 300")
    found = discover(ADDRESS, timeout=1.0)
    assert found.reason == "xpu-smi does not answer within 1 s: the GPU or its driver hangs"
    child = int((tmp_path / "child").read_text())
    assert ended(child)


def ended(pid):
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True  # nobody has collected it yet
        time.sleep(0.05)
    return False


def test_a_tool_that_cannot_be_run(tmp_path, monkeypatch):
    path = tool(tmp_path, monkeypatch, "")
    path.write_bytes(b"\x7fELF")
    assert "cannot be run" in discover(ADDRESS).reason
