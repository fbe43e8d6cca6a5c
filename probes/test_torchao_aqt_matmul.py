"""Matmul with a transposed AffineQuantizedTensor of group-wise int8 weights."""

from collections import namedtuple

import pytest
from support import assert_same_values, control, require

URL = "https://github.com/pytorch/ao/issues/2069"

Case = namedtuple("Case", ["inputs", "transposed", "expected"])


def quantize(torch, weight):
    """Quantize to int8 in groups of 32, a block size that has no specialised matmul kernel."""
    quantizer = require("torchao.dtypes", "to_affine_quantized_intx", "to_affine_quantized")
    mapping_type = require("torchao.quantization.quant_primitives", "MappingType")
    return quantizer(
        weight,
        mapping_type=mapping_type.SYMMETRIC,
        block_size=(1, 32),
        target_dtype=torch.int8,
        quant_min=-128,
        quant_max=127,
        eps=torch.finfo(torch.float32).eps,
    )


@pytest.fixture
def case(torch):
    """Inputs and a quantized weight, for which the linear layer gives the right values."""
    # No two sizes are equal, so that a wrong transpose cannot hide.
    inputs = torch.randn(5, 2048)
    weight = quantize(torch, torch.randn(53, 2048))
    expected = inputs @ weight.dequantize().t()
    linear = torch.nn.functional.linear(inputs, weight)
    control(torch.allclose(linear, expected, atol=1e-3), "linear gives wrong values")
    return Case(inputs, weight.t(), expected)


@pytest.mark.issue("torchao-aqt-matmul", url=URL)
def test_aqt_matmul_runs(torch, case):
    """Inputs times a transposed quantized weight is a matmul of fitting shapes."""
    product = torch.matmul(case.inputs, case.transposed)
    assert product.shape == case.expected.shape, f"shape is {tuple(product.shape)}"


@pytest.mark.issue("torchao-aqt-matmul-values", url=URL)
def test_aqt_matmul_values(torch, case, record_property):
    """The matmul gives the values of the dequantized weight."""
    # The transpose leaves the scales of the groups where they were.
    product = torch.matmul(case.inputs, case.transposed)
    assert_same_values(product, case.expected, record_property, tolerance=1e-3)
