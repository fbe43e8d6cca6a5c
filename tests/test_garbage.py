from __future__ import annotations

import gc

from orchestrator.garbage import uncollected


def test_the_collector_rests_meanwhile_and_goes_on_afterwards() -> None:
    assert gc.isenabled()
    try:
        with uncollected():
            assert not gc.isenabled()
            with uncollected():
                assert not gc.isenabled()
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_who_collects_nothing_is_left_alone() -> None:
    gc.disable()
    try:
        before = gc.get_freeze_count()
        with uncollected():
            pass
        assert not gc.isenabled()
        assert gc.get_freeze_count() == before
    finally:
        gc.enable()
