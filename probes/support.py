"""What probes share: the two skips they may make, the control, and the comparison of tensors."""

import importlib

import pytest

# A package that broke while importing leaves parts of itself behind, on which a second import may
# succeed. It stays broken, so that no outcome depends on the order of the probes.
_broken = {}


def absent(what):
    """Skip because the API under test is not in this version: not there yet, or removed."""
    pytest.skip(f"absent: {what}")


def no_device(name):
    """Skip because this host, or this build of the library, has no such device."""
    pytest.skip(f"no-device: {name}")


def control(holds, claim):
    """Require, inside a fixture, what must hold for the probe's result to count."""
    assert holds, f"control: {claim}"


def find_module(name):
    """Import a module, or return None where it does not exist; a module that breaks raises."""
    package = name.partition(".")[0]
    if package in _broken:
        raise _broken[package]
    try:
        # IPEX exits where it finds another torch than its own, hence SystemExit.
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        # A missing dependency of the module is not the module's own absence.
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            return None
        _broken[package] = error
        raise


def require(module_name, *names):
    """Import a module, or the first of its attributes that exists; absent if there is none."""
    module = find_module(module_name)
    if module is not None and not names:
        return module
    for name in names:
        if hasattr(module, name):
            return getattr(module, name)
    return absent(".".join((module_name, *names[:1])))


def assert_same_values(actual, expected, record_property, tolerance=1e-4):
    """Require tensors to agree within a mean absolute error, and record how far apart they are."""
    # To the CPU first: some XPU devices have no float64.
    difference = (actual.cpu().double() - expected.cpu().double()).abs()
    nonfinite = 1 - difference.isfinite().double().mean().item()
    record_property("nonfinite_fraction", nonfinite)
    assert nonfinite == 0, f"values not finite: fraction {nonfinite:.4g}"
    mae = difference.mean().item()
    record_property("mae", mae)
    assert mae <= tolerance, f"values differ: mean abs error {mae:.4g}"
