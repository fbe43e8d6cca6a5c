"""What a run says of the GPUs that its cells were, or could not be, computed on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from builders import axis, stack
from gpus import host, several
from orchestrator.devices import Health, Pool
from orchestrator.devices.xpu import IntelGpus
from orchestrator.execute.port import RawAttempt
from orchestrator.matrix import expand
from orchestrator.measure import Options
from orchestrator.model import Device, Outcome
from orchestrator.pipeline import run
from workbench import bench, never

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from orchestrator.devices import Unit
    from orchestrator.model import Report
    from workbench import Bench


class Asked(IntelGpus):
    """GPUs whose tool tells a firmware, or that they are ill."""

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason

    def health(self, unit: Unit) -> Health:
        return Health(reason=self.reason, firmware=f"gfx {unit.index}")


def made(tmp_path: Path, gpus: int, reason: str | None = None) -> Bench:
    """A workshop whose stack computes on Intel GPUs, on a host that has so many."""
    one = bench(tmp_path, ["1.0", "2.0", "3.0"], {"a": never})
    stacks = {"s": stack("s", axis("lib", "1.0", "2.0", "3.0"), device=Device.XPU)}
    matrix = replace(one.shop.matrix, stacks=stacks)
    locks = tmp_path / "locks"
    locks.mkdir()
    on = several(tmp_path / "host", gpus) if gpus else host(tmp_path / "host")
    pool = Pool(host=on, directory=locks, backends={Device.XPU: Asked(reason)})
    return replace(one, shop=replace(one.shop, matrix=matrix, devices=pool), cells=expand(matrix))


def outcomes(report: Report) -> set[Outcome]:
    return {point.outcome for series in report.series for point in series.points}


def test_every_result_says_which_gpu_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = made(tmp_path, 2)
    told = one.runtime.execute
    runtime = {"libze1": "1.20.2", "torch.version.xpu": "20250004"}

    def execute(job, step, say, cancel):  # type: ignore[no-untyped-def] # as the port's
        raw = told(job, step, say, cancel)
        preflight = json.loads(raw.artifacts["preflight.json"])
        data = json.dumps(preflight | {"runtime": runtime}).encode()
        return replace(raw, artifacts={**raw.artifacts, "preflight.json": data})

    monkeypatch.setattr(one.runtime, "execute", execute)
    report = run(one.shop, Options(width=3))
    assert outcomes(report) == {Outcome.PASS}
    marks = [row.origin.fingerprint for row in report.cells if row.origin and row.origin.fingerprint]
    assert len(marks) == 3
    assert {mark.device for mark in marks} == {"8086:e20b Arc B580"}
    assert {mark.firmware for mark in marks} <= {"gfx 0", "gfx 1"}
    assert [mark.runtime for mark in marks] == [runtime] * 3


def test_without_a_gpu_nothing_is_run(tmp_path: Path) -> None:
    assert outcomes(run(made(tmp_path, 0).shop, Options())) == {Outcome.NO_DEVICE}


def test_ill_gpus_are_infrastructure_and_named_in_the_notices(tmp_path: Path) -> None:
    report = run(made(tmp_path, 1, "its state is survivability, not normal").shop, Options())
    assert outcomes(report) == {Outcome.INFRA}
    assert "GPU 0000:03:00.0 is not used: its state is survivability, not normal" in report.notices


def test_a_wedged_gpu_is_named_in_the_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = made(tmp_path, 1)
    failure = "the container does not end, not even by SIGKILL: its device or disk may be wedged"
    stuck = RawAttempt(started=False, survived=True, failure=failure)
    monkeypatch.setattr(one.runtime, "execute", lambda _job, _step, _say, _cancel: stuck)
    report = run(one.shop, Options())
    assert outcomes(report) == {Outcome.INFRA}
    assert any("was put into quarantine" in notice and failure in notice for notice in report.notices)
    reasons = {row.reason for row in report.cells}
    assert sum("no GPU can be used" in (reason or "") for reason in reasons) >= 1
