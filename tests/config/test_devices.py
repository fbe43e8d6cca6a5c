from pathlib import Path

import pytest

from orchestrator.config import load
from orchestrator.errors import ConfigError
from orchestrator.model import Device, GpuUse

FILE = """\
version: 1
bases: {"3.11": {image: "python:3.11-slim"}}
packages: {torch: {}}
stacks: {xpu: {device: xpu, axes: {torch: ["2.8.0"]}}}
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    (tmp_path / "probes").mkdir()
    monkeypatch.chdir(tmp_path)


def loaded(text):
    Path("matrix.yaml").write_text(FILE + text)
    return load(Path("matrix.yaml")).devices


def test_all_gpus_one_cell_each_is_the_default():
    assert loaded("") == {Device.XPU: GpuUse(), Device.CUDA: GpuUse()}


def test_what_a_matrix_may_say():
    found = loaded("devices: {xpu: {use: [0, 0000:4d:00.0], shared: 2, lease: tile}, cuda: {cdi: true}}\n")
    assert found[Device.XPU] == GpuUse(use=(0, "0000:4d:00.0"), shared=2, tiles=True)
    assert found[Device.CUDA] == GpuUse(cdi=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("devices: {cpu: {}}", "matrix.yaml:5:11: devices.cpu: unknown key"),
        ("devices: {cuda: {lease: tile}}", "devices.cuda.lease: unknown key"),
        ("devices: {xpu: {lease: half}}", "devices.xpu.lease: must be one of gpu or tile"),
        ("devices: {xpu: {shared: 0}}", "devices.xpu.shared: must be at least 1, not 0"),
        ("devices: {xpu: {use: []}}", "devices.xpu.use: must not be empty"),
        ("devices: {xpu: {use: [-1]}}", "devices.xpu.use.0: must be at least 0, not -1"),
        (
            "devices: {xpu: {use: [card0]}}",
            'devices.xpu.use.0: "card0" is not a PCI address as the kernel writes it',
        ),
        ("devices: {xpu: {use: [0000:4D:00.0]}}", "is not a PCI address"),
        ("devices: {xpu: {use: [true]}}", "devices.xpu.use.0: must be a whole number"),
        ("devices: {xpu: {use: [1.5]}}", "devices.xpu.use.0: must be a number or a PCI address"),
    ],
)
def test_what_it_may_not(text, problem):
    with pytest.raises(ConfigError) as caught:
        loaded(text + "\n")
    assert problem in str(caught.value)
