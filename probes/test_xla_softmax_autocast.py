"""torch.softmax under autocast on XLA."""

import pytest


@pytest.mark.issue("xla-softmax-autocast", url="https://github.com/pytorch/xla/pull/8509")
def test_softmax_autocast_float32(torch, xla, xla_autocast):
    """A softmax under autocast is computed in float32, whatever its input."""
    scores = torch.ones(4, 8).to(xla, torch.bfloat16)
    with xla_autocast():
        weights = torch.softmax(scores, dim=-1)
    assert weights.dtype is torch.float32, f"softmax under autocast is {weights.dtype}"
