import json
import os

import pytest

from orchestrator.devices import Quarantine
from orchestrator.errors import EnvironmentUnusableError

A, B = "0000:03:00.0", "0000:04:00.0"


def test_every_run_of_this_boot_is_told_and_no_later_one(tmp_path):
    Quarantine(tmp_path, "boot-1").add(A, "the container does not end")
    told = Quarantine(tmp_path, "boot-1")
    assert told.reason(A).startswith("in quarantine since ")
    assert told.reason(A).endswith("UTC: the container does not end")
    assert [one.unit for one in told.held()] == [A]
    assert told.reason(B) is None
    later = Quarantine(tmp_path, "boot-2")
    assert (later.reason(A), later.held()) == (None, ())


def test_the_first_reason_stays_in_a_boot_and_goes_with_it(tmp_path):
    one = Quarantine(tmp_path, "boot-1")
    one.add(A, "first\nwith\x1b[31m lines")
    one.add(A, "second")
    assert one.held()[0].reason == "first with [31m lines"
    later = Quarantine(tmp_path, "boot-2")
    later.add(A, "third")
    assert later.held()[0].reason == "third"


def test_forgetting_lets_all_out(tmp_path):
    one = Quarantine(tmp_path, "boot-1")
    one.add(A, "a")
    one.add(B, "b")
    assert [entry.unit for entry in one.forget()] == [A, B]
    assert (one.held(), one.reason(A)) == ((), None)
    assert one.forget() == ()


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, json.dumps({"unit": A}).encode()])
def test_a_record_that_cannot_be_read_still_keeps_others_away(tmp_path, content):
    (tmp_path / f"{A}.quarantine").write_bytes(content)
    one = Quarantine(tmp_path, "boot-1")
    assert "cannot be read" in one.reason(A)
    assert [entry.unit for entry in one.forget()] == [A]


def test_what_others_put_in_its_place_is_neither_followed_nor_waited_for(tmp_path):
    os.mkfifo(tmp_path / f"{A}.quarantine")
    (tmp_path / f"{B}.quarantine").symlink_to("/etc/hostname")
    one = Quarantine(tmp_path, "boot-1")
    assert "cannot be read" in one.reason(A)
    assert "cannot be read" in one.reason(B)


def test_a_record_that_cannot_be_removed(tmp_path):
    (tmp_path / f"{A}.quarantine").mkdir()
    with pytest.raises(EnvironmentUnusableError, match=f"the quarantine of {A} stays"):
        Quarantine(tmp_path, "boot-1").forget()
