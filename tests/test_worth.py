from __future__ import annotations

from orchestrator.adaptive import Search
from orchestrator.measure import plan_for
from orchestrator.pinpoint.prior import STEADY, Prior
from orchestrator.search.choose import Goal
from orchestrator.worth import worthwhile
from workbench import made, since

SEARCH = Search(prior=Prior(noise=STEADY), goal=Goal(confidence=0.95))


def test_many_versions_are_searched(tmp_path):
    one, field = made(tmp_path, {"a": since(20)}, tuple(f"1.{minor}" for minor in range(64)))
    plan = plan_for(one.shop, field.known, one.cells)
    assert worthwhile(one.shop, SEARCH, field, plan)
    (said,) = [phase for phase in one.listener.phases if phase.startswith("a search")]
    assert said.startswith("a search is expected to cost less than running every cell (")
    assert said.endswith("%): searching")


def test_few_versions_and_many_issues_are_not(tmp_path):
    truths = {f"i{number}": since(number) for number in range(12)}
    one, field = made(tmp_path, truths, tuple(f"1.{minor}" for minor in range(5)))
    plan = plan_for(one.shop, field.known, one.cells)
    assert not worthwhile(one.shop, SEARCH, field, plan)
    assert one.listener.phases[-1] == (
        "a search is expected to cost no less than running every cell (100%): every cell is run"
    )
