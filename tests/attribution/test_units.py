"""What moves between two locks, and what of it can only move together."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from orchestrator.attribution.units import DRIFT, TESTED, differing, exact_ties, units
from orchestrator.model import Distribution, Lock
from orchestrator.versions import Version


def lock(**versions):
    wheels = (
        Distribution(name=name, version=Version(version), url="", sha256=version, size=None, index="default")
        for name, version in sorted(versions.items())
    )
    return Lock(python="3.11", platform="linux", as_of=None, distributions=tuple(wheels))


def grouped(found):
    return [(unit.name, unit.distributions) for unit in found]


def test_what_changed_came_or_went_differs():
    good = lock(torch="2.1", numpy="1.26", gone="1", same="3")
    bad = lock(torch="2.2", numpy="2.0", added="1", same="3")
    assert differing(good, bad) == ("added", "gone", "numpy", "torch")
    assert differing(bad, good) == differing(good, bad)
    assert differing(good, good) == ()


def test_without_ties_everything_is_a_unit_of_its_own_the_tested_ones_first():
    found = units(("numpy", "torch", "added", "torchao"), ("torchao", "torch"), ())
    assert grouped(found) == [
        ("torchao", ("torchao",)),
        ("torch", ("torch",)),
        ("added", ("added",)),
        ("numpy", ("numpy",)),
    ]
    assert [unit.weight for unit in found] == [TESTED, TESTED, DRIFT, DRIFT]


def test_what_is_required_exactly_goes_with_what_requires_it():
    found = units(("numpy", "torch", "triton"), ("torch",), [("torch", "triton")])
    assert grouped(found) == [("torch", ("torch", "triton")), ("numpy", ("numpy",))]
    assert found[0].weight == TESTED


@pytest.mark.parametrize("turned", [False, True])
def test_chains_of_ties_make_one_unit_in_whatever_order_they_are_told(turned):
    ties = [("a", "b"), ("b", "c"), ("c", "d")]
    assert grouped(units(("a", "b", "c", "d", "e"), (), ties[::-1] if turned else ties)) == [
        ("a", ("a", "b", "c", "d")),
        ("e", ("e",)),
    ]


def test_rings_of_ties_come_to_an_end():
    (found,) = units(("a", "b", "c"), (), [("a", "b"), ("b", "c"), ("c", "a")])
    assert found.distributions == ("a", "b", "c")


def test_a_unit_of_drift_is_called_by_what_requires_the_others():
    (found,) = units(("core", "shell"), ("torch",), [("shell", "core")])
    assert (found.name, found.distributions, found.weight) == ("shell", ("core", "shell"), DRIFT)


def test_two_tested_packages_that_are_tied_are_one_unit_called_by_the_first():
    tested = ("torchvision", "torch")
    (found,) = units(("torch", "torchvision"), tested, [("torch", "torchvision")])
    assert (found.name, found.weight) == ("torchvision", TESTED)
    (other,) = units(("torch", "torchvision"), tested[::-1], [("torchvision", "torch")])
    assert other.name == "torch"


def test_a_tested_package_names_the_unit_of_what_requires_it():
    (found,) = units(("bundle", "torch"), ("torch",), [("bundle", "torch")])
    assert (found.name, found.distributions) == ("torch", ("bundle", "torch"))


def test_ties_with_what_does_not_differ_tie_nothing():
    found = units(("torch", "triton"), ("torch",), [("torch", "same"), ("same", "triton"), ("other", "thing")])
    assert grouped(found) == [("torch", ("torch",)), ("triton", ("triton",))]


def test_units_hold_every_distribution_once():
    names = ("a", "b", "c", "d", "e", "f")
    found = units(names, ("c",), [("a", "c"), ("b", "c"), ("e", "f"), ("a", "c")])
    assert sorted(name for unit in found for name in unit.distributions) == list(names)
    assert grouped(found)[0] == ("c", ("a", "b", "c"))


@pytest.mark.parametrize(
    ("requirement", "tied"),
    [
        ("triton==2.1.0", True),
        ("triton===2.1.0", True),
        ("triton==2.1.0+cpu", True),
        ("triton[all]==2.1.0; python_version >= '3'", True),
        ("triton>=2,==2.1.0", True),
        ("triton==2.1.*", False),
        ("triton>=2.1.0", False),
        ("triton~=2.1.0", False),
        ("triton!=2.1.0", False),
        ("triton", False),
    ],
)
def test_only_exact_requirements_tie(requirement, tied):
    assert exact_ties({"torch": [Requirement(requirement)]}) == ((("torch", "triton"),) if tied else ())


def test_names_are_normalised():
    required = [Requirement("NVIDIA_cuBLAS.cu12==12.1"), Requirement("filelock"), Requirement("Triton==2")]
    ties = exact_ties({"torch": required, "other": []})
    assert ties == (("torch", "nvidia-cublas-cu12"), ("torch", "triton"))
