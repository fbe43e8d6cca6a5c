from __future__ import annotations

import pytest

from orchestrator import costs
from orchestrator.knowledge import survey
from orchestrator.matrix import Selection
from orchestrator.measure import plan_for
from workbench import bench, made, never, ran

VERSIONS = ("1.0", "1.1", "1.2")


def test_what_is_built_already_costs_its_run_only(tmp_path):
    one, field = made(tmp_path, {"a": never}, VERSIONS[:3], refused={"1.2": "no"})
    plan = plan_for(one.shop, field.known, one.cells)
    build = one.shop.pace.estimate()(plan.chain(field.known[one.cell("1.0")].lock.digest)[0])
    assert build > 0
    before = costs.costs(one.shop, field, plan)
    assert before == pytest.approx(dict.fromkeys(field.known, build + costs.RUN_SECONDS))
    ran(one, field, "1.0")
    found = costs.costs(one.shop, field, plan)
    assert set(found) == {one.cell("1.0"), one.cell("1.1")}
    assert found[one.cell("1.1")] - found[one.cell("1.0")] == pytest.approx(build)
    assert [costs.warm(one.shop, field, one.cell(version), plan) for version in ("1.0", "1.1", "1.2")] == [
        True,
        False,
        False,
    ]


def test_the_time_of_a_run_is_learnt(tmp_path):
    one, field = made(tmp_path, {"a": never, "b": never}, VERSIONS[:2])
    assert costs.run_seconds(field) == costs.RUN_SECONDS
    ran(one, field, "1.0")
    (attempt,) = field.known[one.cell("1.0")].attempts
    assert costs.run_seconds(field) == sum(result.duration for result in attempt.results.values()) + 1.0


def test_what_has_to_be_built_from_source_costs_more(tmp_path):
    one = bench(tmp_path, VERSIONS[:2], {"a": never})
    field = survey(one.shop, Selection(), one.cells[:1], later=one.cells[1:])
    plan = plan_for(one.shop, field.known, one.cells)
    found = costs.costs(one.shop, field, plan)
    assert found[one.cell("1.1")] == costs.SOURCE_SECONDS + costs.RUN_SECONDS > found[one.cell("1.0")]
    assert not costs.warm(one.shop, field, one.cell("1.1"), plan)
