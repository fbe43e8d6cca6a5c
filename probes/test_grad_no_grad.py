"""The same forward pass with and without gradients."""

import pytest
from support import assert_same_values, control

CONV_BN_URL = "https://github.com/intel/intel-extension-for-pytorch/issues/597"
MHA_URL = "https://github.com/pytorch/pytorch/issues/107084"


def conv_bn(torch, device):
    """Return the forward pass of a small ResNet: under no_grad its convolutions change layout."""
    nn = torch.nn
    net = nn.Sequential(
        *(nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU()),
        nn.MaxPool2d(3, stride=2, padding=1),
        *(nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()),
        *(nn.Conv2d(64, 128, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(128)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
    )
    net = net.eval().to(device)
    images = torch.rand(8, 3, 64, 64).to(device)
    return lambda: net(images).detach()


def mha_float_mask(torch):
    """Return the forward pass of attention with an additive mask: no_grad opens a fast path."""
    attention = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    tokens = torch.randn(1, 10, 16)
    # Taken for a boolean mask, one without zeros would hide every token and give only NaN.
    mask = torch.randn(10, 10).fill_diagonal_(0)
    return lambda: attention(tokens, tokens, tokens, attn_mask=mask)[0].detach()


def repeatable(forward):
    """Return a forward pass that agrees with itself when it is run twice with gradients."""
    mae = (forward() - forward()).abs().mean().item()
    control(mae <= 1e-4, f"two runs with gradients differ: mean abs error {mae:.4g}")
    return forward


@pytest.fixture
def conv_bn_cpu(torch):
    """The small ResNet on the CPU."""
    return repeatable(conv_bn(torch, "cpu"))


@pytest.fixture
def conv_bn_xpu(torch, xpu):
    """The small ResNet on an Intel GPU."""
    return repeatable(conv_bn(torch, xpu))


@pytest.fixture
def mha_cpu(torch):
    """Attention with a float mask on the CPU."""
    return repeatable(mha_float_mask(torch))


def assert_no_grad_agrees(torch, forward, record_property):
    """Require a forward pass to give the same values with and without gradients."""
    expected = forward()
    with torch.no_grad():
        actual = forward()
    assert_same_values(actual, expected, record_property)


@pytest.mark.issue("torch-conv-no-grad", url=CONV_BN_URL)
def test_conv_bn_cpu(torch, conv_bn_cpu, record_property):
    """Convolutions and batch norms give the same values under no_grad on the CPU."""
    assert_no_grad_agrees(torch, conv_bn_cpu, record_property)


@pytest.mark.issue("ipex-conv-no-grad", url=CONV_BN_URL)
def test_conv_bn_xpu(torch, conv_bn_xpu, record_property):
    """Convolutions and batch norms give the same values under no_grad on an Intel GPU."""
    assert_no_grad_agrees(torch, conv_bn_xpu, record_property)


@pytest.mark.issue("torch-mha-no-grad", url=MHA_URL)
def test_mha_float_mask_cpu(torch, mha_cpu, record_property):
    """Attention respects a float mask under no_grad."""
    assert_no_grad_agrees(torch, mha_cpu, record_property)
