from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from builders import axis, issue, matrix, stack
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.port import Base
from orchestrator.knowledge import survey, with_contents
from orchestrator.matrix import Selection, expand
from orchestrator.model import BaseImage, LockedCell, Prebuilt, Unresolvable
from orchestrator.planning import plan_steps
from orchestrator.versions import SpecifierSet
from workbench import Memory, bench, never

PLAIN = BaseImage(python="3.11", image="plain", debian=None)
OLD = BaseImage(python="3.11", image="system", debian=None, dockerfile="d", arguments={"TRAIN": "old"})
NEW = BaseImage(python="3.11", image="system", debian=None, dockerfile="d", arguments={"TRAIN": "new"})
NO_NEW = "the archive does not answer"


class Bases(Memory):
    """A runtime with a base for each image but those in `gone`, which knows what is in prebuilt ones."""

    def __init__(self):
        super().__init__({})
        self.gone = {}
        self.inside = None
        self.asked = []

    def base(self, image, say):
        self.asked.append(image.title)
        if image.key in self.gone:
            raise EnvironmentUnusableError(self.gone[image.key])
        return Base(python=image.python, digest=image.key, reference=image.key, origin="", prebuilt=image.prebuilt)

    def contents(self, base):
        return self.inside

    def plan(self, locks):
        return plan_steps(locks, "recipe")


@pytest.fixture
def made(tmp_path):
    """A workshop with one stack for each base, and one of a prebuilt image, all with the same versions."""
    one = bench(tmp_path, ["1.0"], {"one": never})
    lib = axis("lib", "1.0")
    stacks = (
        stack("plain", lib),
        stack("old", lib, base="xpu-old"),
        stack("new", lib, base="xpu-new"),
        stack("image", lib, prebuilt=(Prebuilt(where={"lib": SpecifierSet("==1.0")}, image="vendor:1"),)),
    )
    whole = matrix(
        *stacks,
        issues=(issue("one", {s.name: "lib" for s in stacks}, "test_it.py::test_one"),),
        root=tmp_path,
        bases={"3.11": PLAIN, "xpu-old": OLD, "xpu-new": NEW},
    )
    shop = replace(one.shop, matrix=whole, runtime=Bases())
    return SimpleNamespace(shop=shop, cells=expand(whole))


def test_the_same_wheels_on_other_bases_are_other_environments(made):
    locked = made.shop.resolve(made.cells)
    assert all(isinstance(one, LockedCell) for one in locked)
    plan = made.shop.plan(locked)
    ends = [plan.chain(one.lock.digest)[-1] for one in locked]
    assert [step.base.digest for step in ends] == [PLAIN.key, OLD.key, NEW.key, "vendor:1 3.11 - prebuilt"]
    assert [len(step.distributions) for step in ends] == [1, 1, 1, 0]
    assert len({one.lock.contents for one in locked}) == 2, (
        "what a base is called does not change what is installed"
    )


def test_a_base_that_cannot_be_had_takes_only_its_own_cells(made):
    made.shop.runtime.gone = {NEW.key: NO_NEW, "vendor:1 3.11 - prebuilt": "no such image"}
    answers = made.shop.resolve(made.cells)
    assert [type(one) for one in answers] == [LockedCell, LockedCell, Unresolvable, Unresolvable]
    assert [(one.reason, one.transient) for one in answers[2:]] == [(NO_NEW, True), ("no such image", True)]
    made.shop.plan([one for one in answers if isinstance(one, LockedCell)])


def test_the_base_of_a_python_is_needed_by_all(made):
    made.shop.runtime.gone = {PLAIN.key: "no engine"}
    with pytest.raises(EnvironmentUnusableError, match="no engine"):
        made.shop.plan(made.shop.resolve(made.cells))


def test_a_base_is_looked_for_once_for_many_cells(made):
    (plain, *_) = made.cells
    made.shop.bases([plain, replace(plain, id="another")])
    assert made.shop.runtime.asked == ["base of Python 3.11"]


def test_a_prebuilt_image_that_is_not_selected_is_not_asked_for(made):
    (plain, *_) = made.shop.resolve(made.cells[:1])
    made.shop.lock_candidates(made.cells, [plain])
    assert "prebuilt image vendor:1" not in made.shop.runtime.asked


def test_what_is_found_in_an_image_gets_into_its_lock(made):
    cell = made.cells[-1]
    field = survey(made.shop, Selection(), [cell])
    before = field.known[cell.id].lock
    made.shop.runtime.inside = {"numpy": "1.26.4", "lib": "1.0"}
    lock = with_contents(made.shop, field).known[cell.id].lock
    assert [d.name for d in before.distributions] == ["lib"]
    assert [d.name for d in lock.distributions] == ["lib", "numpy"]
    assert lock.digest == before.digest
