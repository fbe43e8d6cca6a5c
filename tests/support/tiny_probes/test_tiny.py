"""Probes of the small library: each asserts what is right."""

import pytest


@pytest.fixture
def lib():
    import tinylib

    assert tinylib.__version__, "control: the library is there"
    return tinylib


def test_introduced(lib):
    assert lib.introduced() == 4


def test_fixed(lib):
    assert lib.fixed() == 4


def test_again(lib):
    assert lib.again() == 4


def test_always(lib):
    assert lib.always() == 4


def test_api(lib):
    if not hasattr(lib, "api"):
        pytest.skip("absent: tinylib.api")
    assert lib.api() == 4


def test_crash(lib):
    assert lib.crash() == 4


def test_hang(lib):
    assert lib.hang() == 4


def test_deaf(lib):
    assert lib.deaf() == 4


def test_leave(lib):
    assert lib.leave() == 4


def test_number(lib, record_property):
    record_property("error", abs(lib.number() - 4.0))


def test_wrong_reason(lib):
    assert lib.wrong_reason() == 4
