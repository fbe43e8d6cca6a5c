"""torch.einsum under autocast on XLA."""

import pytest


@pytest.mark.issue("xla-einsum-autocast", url="https://github.com/pytorch/xla/issues/8405")
def test_einsum_autocast(torch, xla, xla_autocast):
    """An einsum under autocast is computed in bfloat16, like the matmul that it is."""
    # Two operands: only those reach XLA's own einsum, others decompose to a matmul.
    left, right = torch.ones(16, 10).to(xla), torch.ones(5, 10).to(xla)
    with xla_autocast():
        product = torch.einsum("...n,mn->...m", left, right)
    assert product.dtype is torch.bfloat16, f"einsum under autocast is {product.dtype}"
