"""The quantized convolution that inductor emits, and the kernels registered under that name."""

import re
from pathlib import Path

import pytest
from support import absent, control, no_device

URL = "https://github.com/pytorch/pytorch/issues/151011"
NAMES = ("qconv_pointwise", "qconv2d_pointwise")


def is_registered(torch, name):
    """Whether the operator has a schema."""
    return bool(torch._C._jit_get_schemas_for_operator(f"onednn::{name}"))


def has_kernel(torch, name, *keys):
    """Whether the operator exists and has a kernel for one of the dispatch keys."""
    lookup = torch._C._dispatch_has_kernel_for_dispatch_key
    return is_registered(torch, name) and any(lookup(f"onednn::{name}", key) for key in keys)


@pytest.fixture
def onednn(torch):
    """PyTorch with oneDNN built in, without which no name has a kernel."""
    control(torch.backends.mkldnn.is_available(), "oneDNN is not available")
    return torch


@pytest.fixture
def onednn_xpu(onednn):
    """PyTorch built for XPU, with a quantized convolution there; the device is not needed."""
    if not getattr(onednn._C, "_has_xpu", False):
        no_device("xpu")
    if not any(has_kernel(onednn, name, "XPU") for name in NAMES):
        absent("quantized convolution on XPU")
    return onednn


@pytest.fixture
def emitted(torch):
    """The names under which inductor's quantization pass emits a convolution."""
    # Read rather than imported: inductor takes seconds to import.
    source = Path(torch.__file__).parent / "_inductor" / "fx_passes" / "quantization.py"
    if not source.exists():
        absent("torch._inductor.fx_passes.quantization")
    names = set(re.findall(r"onednn\.(qconv\w*_pointwise)\.default", source.read_text()))
    return sorted(names) or absent("quantized convolution in inductor")


def assert_kernels(torch, names, *keys):
    """Require each operator to have a kernel for one of the dispatch keys."""
    missing = [name for name in names if not has_kernel(torch, name, *keys)]
    assert not missing, f"no {keys[0]} kernel for onednn::{missing[0]}"


@pytest.mark.issue("torch-qconv-name", url=URL)
def test_qconv_pointwise_registered(onednn):
    """The general name of the convolution, for any number of dimensions, is an operator."""
    if not is_registered(onednn, "qconv_pointwise"):
        absent("onednn::qconv_pointwise")
    assert callable(onednn.ops.onednn.qconv_pointwise.default)


@pytest.mark.issue("torch-qconv-kernel", url=URL)
def test_emitted_name_has_kernel_cpu(onednn, emitted):
    """The convolution that inductor emits has a CPU kernel under that name."""
    assert_kernels(onednn, emitted, "MkldnnCPU", "CPU")


@pytest.mark.issue("xpu-qconv-kernel", url=URL)
def test_emitted_name_has_kernel_xpu(onednn_xpu, emitted):
    """The convolution that inductor emits has an XPU kernel under that name."""
    assert_kernels(onednn_xpu, emitted, "XPU")
