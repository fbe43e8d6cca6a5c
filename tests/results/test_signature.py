"""Equal failures have equal signatures; different ones do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.results.signature import MAX_LENGTH, failure_signature, metric_signature, signal_signature


@pytest.mark.parametrize(
    ("headline", "expected"),
    [
        # As real versions said it.
        ("RuntimeError: \"dot\" not implemented for 'Half'", "RuntimeError: \"dot\" not implemented for 'Half'"),
        (
            "AssertionError: values differ: mean abs error 1.476\nassert 1.476 <= 0.0001",
            "AssertionError: values differ: mean abs error N",
        ),
        (
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (53x2048 and 1536x768)",
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (53x2048 and 1536x768)",
        ),
        (
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nKeyError: 'getpwuid()'",
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised: KeyError: 'getpwuid()'",
        ),
        (
            "ImportError: libpython3.11.so.1.0: cannot open shared object file: No such file or directory",
            "ImportError: libpython3.11.so.1.0: cannot open shared object file: No such file or directory",
        ),
        (
            "OSError: /opt/venv/lib/python3.11/site-packages/torch/lib/libtorch.so: undefined symbol: _ZN2at4_ops",
            "OSError: libtorch.so: undefined symbol: _ZN2at4_ops",
        ),
        (
            'RuntimeError: Expected t == kFloat at "../aten/src/ATen/native/Foo.cpp":417, please report',
            'RuntimeError: Expected t == kFloat at "../aten/src/ATen/native/Foo.cpp":417, please report',
        ),
        ("RuntimeError: failed at Foo.cpp:417 in worker gw12", "RuntimeError: failed at Foo.cpp in worker gwN"),
        ("ValueError: <Thing object at 0x7f12ab>", "ValueError: <Thing object at 0x…>"),
        ("AssertionError: softmax under autocast is torch.bfloat16", None),
        ("AssertionError: values differ: mean abs error nan", "AssertionError: values differ: mean abs error N"),
        (
            "AssertionError: values differ: mean abs error 3.7e-06",
            "AssertionError: values differ: mean abs error N",
        ),
        ("RuntimeError: needs torch 2.6.0, found 2.5.1", "RuntimeError: needs torch 2.6.0, found 2.5.1"),
        ("assert 1 == 2", "AssertionError: assert 1 == 2"),
        ("\x1b[31mValueError: red\x1b[0m", "ValueError: red"),
        ("  \n ", "no message"),
    ],
)
def test_signatures(headline: str, expected: str | None) -> None:
    assert failure_signature(headline) == (headline if expected is None else expected)


@given(
    address=st.integers(0, 2**48),
    line=st.integers(1, 9999),
    error=st.floats(min_value=1e-3, max_value=1e3).filter(lambda number: "." in f"{number:.4g}"),
    place=st.sampled_from(["/usr/lib", "/opt/venv/lib/python3.12/site-packages", "/tmp/x-1"]),
)
def test_what_varies_from_run_to_run_is_left_out(address: int, line: int, error: float, place: str) -> None:
    said = f"RuntimeError: {place}/torch/nn.py:{line}: tensor at {address:#x} is off by {error:.4g}, shape 53x2048"
    assert failure_signature(said) == "RuntimeError: nn.py: tensor at 0x… is off by N, shape 53x2048"


@given(st.text(max_size=2000))
def test_a_signature_is_one_bounded_printable_line_and_stays_itself(text: str) -> None:
    signature = failure_signature(text)
    assert 0 < len(signature) <= MAX_LENGTH
    assert signature.isprintable()


def test_a_huge_message_takes_no_time() -> None:
    assert len(failure_signature("RuntimeError: " + "9" * 1_000_000)) == MAX_LENGTH


def test_signals_have_names() -> None:
    assert signal_signature(11) == "SIGSEGV"
    assert signal_signature(50) == "signal 50"


def test_metrics_show_five_digits() -> None:
    assert metric_signature("mae", 1.4759) == "mae = 1.4759"
    assert metric_signature("mae", 3.7e-06) == "mae = 3.7e-06"
