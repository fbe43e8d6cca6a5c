from __future__ import annotations

from dataclasses import replace

from builders import axis, companion, matrix, stack
from orchestrator.matrix import expand
from orchestrator.model import FROM_IMAGE, LockedCell, Prebuilt, Unresolvable
from orchestrator.resolve import lock_prebuilt
from orchestrator.versions import SpecifierSet

TINY = stack(
    "s",
    axis("ipex", "2.1.30+xpu"),
    companions=(companion("torch", "ipex", {"==2.1.30+xpu": "==2.1.0.post2"}),),
    prebuilt=(Prebuilt(where={}, image="vendor/image:1"),),
)
MATRIX = matrix(TINY)
(CELL,) = expand(MATRIX)


def locked(contents, image="digest", cell=CELL):
    one = lock_prebuilt(MATRIX, cell, image, contents, platform="linux")
    assert isinstance(one, LockedCell)
    return one.lock


def pins(lock):
    return {d.name: str(d.version) for d in lock.distributions}


def test_nothing_is_installed_and_what_is_under_test_has_to_be_there():
    lock = locked(None)
    assert lock.installs == ()
    assert pins(lock) == {"ipex": "2.1.30+xpu", "torch": "2.1.0.post2"}
    assert {d.index for d in lock.distributions} == {FROM_IMAGE}


def test_what_is_found_is_told_and_changes_nothing_that_results_are_kept_under():
    looked = locked({"Some_Thing": "1.0", "torch": "2.0", "python-apt": "2.6.0-ubuntu1"})
    assert pins(looked) == {"ipex": "2.1.30+xpu", "some-thing": "1.0", "torch": "2.1.0.post2"}
    assert looked.digest == locked(None).digest
    assert looked.warnings == ("vendor/image:1 has python-apt 2.6.0-ubuntu1, which is no version by PEP 440",)


def test_another_image_or_another_version_is_another_environment():
    other = replace(CELL, requires={**CELL.requires, "torch": SpecifierSet("==2.1.0")})
    found = {locked(None).contents, locked(None, image="another").contents, locked(None, cell=other).contents}
    assert len(found) == 3


def test_what_is_not_named_exactly_cannot_be_checked():
    cell = replace(CELL, requires={**CELL.requires, "torch": SpecifierSet("==2.1.*")})
    answer = lock_prebuilt(MATRIX, cell, "digest", None, platform="linux")
    assert isinstance(answer, Unresolvable)
    assert answer.reason == "torch==2.1.* is no exact version, as the packages of a prebuilt image must have"
    assert not answer.transient
