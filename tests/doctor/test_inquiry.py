import threading
import time

import pytest

from orchestrator.doctor.inquiry import Inquiry, LateError, end


def test_an_answer():
    assert Inquiry(lambda _: 7, patience=5).answer() == 7


def test_what_asking_raises_is_raised_where_the_answer_is_wanted():
    def ask(_):
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        Inquiry(ask, patience=5).answer()


def test_a_question_that_hangs_is_left_behind():
    never = threading.Event()
    inquiry = Inquiry(lambda _: never.wait(), patience=0.05)
    with pytest.raises(LateError):
        inquiry.answer()
    end([inquiry], grace=0.05)
    never.set()


def test_who_listens_may_put_away_what_was_started():
    put_away = threading.Event()

    def ask(cancel):
        cancel.wait()
        time.sleep(0.05)
        put_away.set()

    inquiry = Inquiry(ask, patience=0.01)
    with pytest.raises(LateError):
        inquiry.answer()
    end([inquiry], grace=5)
    assert put_away.is_set()
