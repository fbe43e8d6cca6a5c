"""Exchange of tensors and NumPy arrays."""

import pytest
from support import control, require


@pytest.fixture
def numpy():
    """NumPy, which works by itself."""
    numpy = require("numpy")
    total = numpy.arange(4).sum()
    control(total == 6, f"numpy adds 0, 1, 2, 3 to {total}")
    return numpy


@pytest.mark.issue("torch-numpy", url="https://github.com/pytorch/pytorch/issues/107302")
def test_tensor_numpy_roundtrip(torch, numpy):
    """A tensor becomes an array and comes back with the same values and type."""
    # NumPy 2 changed its ABI: a torch that was built for NumPy 1 cannot use it.
    tensor = torch.arange(4, dtype=torch.float32)
    array = tensor.numpy()
    assert isinstance(array, numpy.ndarray), f"array is {type(array)}"
    back = torch.from_numpy(array)
    assert back.dtype is tensor.dtype, f"float32 comes back as {back.dtype}"
    assert back.equal(tensor), f"tensor comes back as {back}"
