"""One cell once more: what runs it, and what cannot be run."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from builders import axis, exclusion, stack
from orchestrator.devices import Busy, Grant, Unusable
from orchestrator.devices.leases import Leases
from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.model import Device, Fingerprint
from orchestrator.repro import lease, make, repeat
from workbench import Bench, bench, never

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    return bench(tmp_path, ["1.0", "2.0"], {"a": never, "b": never})


def test_the_command_has_the_probes_that_were_asked_for(made: Bench) -> None:
    cell = made.cell("1.0")
    both, one = repeat(made.shop, cell), repeat(made.shop, cell, ("b",))
    assert both.job.nodeids == ("test_it.py::test_a", "test_it.py::test_b")
    assert one.job.nodeids == ("test_it.py::test_b",)
    assert made.shop.runtime.command(one.job, one.step) == ("run", cell, "test_it.py::test_b")
    assert made.runtime.there == {}, "nothing is made"


def test_its_environment_is_made_once(made: Bench) -> None:
    one = repeat(made.shop, made.cell("1.0"))
    make(made.shop, one)
    assert made.shop.runtime.ready(one.step)
    there = dict(made.runtime.there)
    make(made.shop, one)
    assert made.runtime.there == there
    assert made.runtime.runs == [], "making runs nothing"


def test_an_environment_that_cannot_be_made(made: Bench) -> None:
    made.runtime.broken["1.0"] = "no space left"
    with pytest.raises(EnvironmentUnusableError, match="cannot be made: no space left\nthe last lines"):
        make(made.shop, repeat(made.shop, made.cell("1.0")))


@pytest.mark.parametrize(
    ("name", "issues", "message"),
    [
        ("s-py3.11-lib9", (), "there is no cell 's-py3.11-lib9'"),
        ("s-py3.11-lib1.0", ("c",), "there is no issue 'c'"),
    ],
)
def test_names_that_are_not_there(made: Bench, name: str, issues: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        repeat(made.shop, name, issues)


def test_what_no_issue_asks_about(made: Bench) -> None:
    matrix = replace(made.shop.matrix, issues={})
    with pytest.raises(ConfigError, match="no issue that was asked for has a probe"):
        repeat(replace(made.shop, matrix=matrix), made.cell("1.0"))


def test_an_excluded_cell(made: Bench) -> None:
    left_out = stack("s", axis("lib", "1.0", "2.0"), exclude=(exclusion("it was yanked", lib="==1.0"),))
    matrix = replace(made.shop.matrix, stacks={"s": left_out})
    with pytest.raises(ConfigError, match="is excluded: it was yanked"):
        repeat(replace(made.shop, matrix=matrix), made.cell("1.0"))


def test_a_device_that_is_not_here(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made.shop.devices, "missing", lambda device: f"no {device}")
    matrix = replace(made.shop.matrix, stacks={"s": stack("s", axis("lib", "1.0"), device=Device.XPU)})
    with pytest.raises(EnvironmentUnusableError, match="cannot be run here: no xpu"):
        repeat(replace(made.shop, matrix=matrix), made.cell("1.0"))


def test_a_cell_by_hand_waits_for_its_gpu_and_has_it_to_itself(
    made: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[object] = [
        Busy(elsewhere=True),
        Busy(elsewhere=True),
        Grant(
            fingerprint=Fingerprint(device="gpu", driver=None, system="Linux"), lease=Leases(tmp_path).take("gpu")
        ),
    ]
    monkeypatch.setattr(made.shop.devices, "acquire", lambda _device: answers.pop(0))
    leased = lease(made.shop, repeat(made.shop, made.cell("1.0")))
    assert answers == []
    assert leased.job.grant is not None
    assert leased.job.grant.lease is not None
    assert all(map(os.get_inheritable, leased.job.grant.lease.descriptors))
    assert made.listener.phases.count("waiting for a GPU: other runs have all of them") == 1
    leased.job.grant.release()


def test_a_cell_by_hand_whose_gpu_cannot_be_used(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made.shop.devices, "acquire", lambda _device: Unusable(reason="wedged"))
    with pytest.raises(EnvironmentUnusableError, match="cannot be run here: wedged"):
        lease(made.shop, repeat(made.shop, made.cell("1.0")))


def test_what_no_index_has(tmp_path: Path) -> None:
    one = bench(tmp_path, ["1.0"], {"a": never}, refused={"1.0": "lib==1.0 needs dep<1"})
    with pytest.raises(EnvironmentUnusableError, match=r"cannot be had: lib==1\.0 needs dep<1"):
        repeat(one.shop, one.cell("1.0"))
