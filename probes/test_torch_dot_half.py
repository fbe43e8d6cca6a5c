"""torch.dot on float16 vectors."""

import pytest
from support import control

URL = "https://github.com/intel/intel-extension-for-pytorch/issues/673"


def dot(torch, device, dtype):
    """Return ones(8) . halves(8), which is 4.0 in every floating type."""
    # Made in float32 and converted, for old builds have few float16 kernels.
    ones = torch.ones(8).to(device, dtype)
    halves = torch.full((8,), 0.5).to(device, dtype)
    return torch.dot(ones, halves)


def with_working_float32_dot(torch, device):
    """Return the device, once float32 dot is known to work there."""
    result = dot(torch, device, torch.float32).item()
    control(result == 4.0, f"float32 dot on {device} is {result}")
    return device


@pytest.fixture
def dot_cpu(torch):
    """The CPU, where float32 dot works."""
    return with_working_float32_dot(torch, "cpu")


@pytest.fixture
def dot_xpu(torch, xpu):
    """The Intel GPU, where float32 dot works."""
    return with_working_float32_dot(torch, xpu)


def assert_half_dot(torch, device):
    """Require the float16 dot to be a float16 4.0."""
    result = dot(torch, device, torch.float16)
    assert result.dtype is torch.float16, f"float16 dot is {result.dtype}"
    assert result.item() == 4.0, f"float16 dot is {result.item()}, not 4.0"


@pytest.mark.issue("torch-dot-half", url=URL)
def test_dot_half_cpu(torch, dot_cpu):
    """Float16 vectors have a dot product on the CPU."""
    assert_half_dot(torch, dot_cpu)


@pytest.mark.issue("ipex-dot-half", url=URL)
def test_dot_half_xpu(torch, dot_xpu):
    """Float16 vectors have a dot product on an Intel GPU."""
    assert_half_dot(torch, dot_xpu)
