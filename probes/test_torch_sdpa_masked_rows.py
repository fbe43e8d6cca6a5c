"""Scaled dot product attention where a query may attend to nothing."""

import pytest
from support import assert_same_values, control


@pytest.fixture
def attend(torch):
    """Attention over four tokens, which a mask that hides nothing leaves as it is."""
    query, key, value = torch.randn(3, 1, 1, 4, 8)

    def attend(mask=None):
        attention = torch.nn.functional.scaled_dot_product_attention
        return attention(query, key, value, attn_mask=mask)

    open_mask = torch.ones(4, 4, dtype=torch.bool)
    control(torch.allclose(attend(open_mask), attend(), atol=1e-5), "an open mask changes values")
    return attend


@pytest.mark.issue("torch-sdpa-masked-rows", url="https://github.com/pytorch/pytorch/issues/103749")
def test_sdpa_fully_masked_rows(torch, attend, record_property):
    """A query with every key hidden gets zeros, and the other queries get their usual values."""
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[0] = False
    expected = attend()
    expected[..., 0, :] = 0
    assert_same_values(attend(mask), expected, record_property)
