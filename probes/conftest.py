"""Fixtures of every probe: the library, the devices, and the contract checked at collection."""

import functools
import os

import pytest
from support import control, find_module, no_device, require


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector):
    """Refuse a probe that breaks the contract, before its outcome can be misread."""
    # Here and not after collection, for an error raised there is lost in a worker of xdist.
    made = yield
    for item in made if isinstance(made, list) else ():
        marks = {marker.name for marker in item.iter_markers()}
        if "issue" not in marks:
            raise collector.CollectError(f"{item.name}: needs @pytest.mark.issue(id, url)")
        if marks & {"skip", "skipif", "xfail"}:
            raise collector.CollectError(f"{item.name}: what is expected belongs in matrix.yaml")
    return made


@pytest.fixture
def torch():
    """PyTorch with its random numbers seeded."""
    torch = require("torch")
    torch.manual_seed(0)
    return torch


@pytest.fixture
def xpu(torch):
    """The Intel GPU, through Intel Extension for PyTorch where the cell has it."""
    # IPEX brings the device before torch 2.5 and replaces its kernels after.
    find_module("intel_extension_for_pytorch")
    if not (hasattr(torch, "xpu") and torch.xpu.is_available()):
        no_device("xpu")
    return "xpu"


@pytest.fixture
def xla():
    """The XLA device, on the CPU unless the environment chooses another PJRT client."""
    os.environ.setdefault("PJRT_DEVICE", "CPU")
    return require("torch_xla.core.xla_model").xla_device()


@pytest.fixture
def xla_autocast(torch, xla):
    """Autocast to bfloat16 on XLA, which lowers at least a matmul."""
    # Not torch_xla.amp.autocast: that one ignores the CPU client.
    autocast = functools.partial(torch.autocast, "xla", dtype=torch.bfloat16)
    square = torch.ones(4, 4).to(xla)
    with autocast():
        dtype = torch.matmul(square, square).dtype
    control(dtype is torch.bfloat16, f"matmul under autocast is {dtype}")
    return autocast
