import os
import subprocess
import sys

from orchestrator.execute.owner import is_alive, owner, start_ticks


def test_this_process_is_alive():
    assert is_alive(owner())


def test_a_process_that_has_ended_is_not():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        labels = owner() | {
            "io.orchestrator.pid": str(child.pid),
            "io.orchestrator.started": start_ticks(child.pid),
        }
        assert is_alive(labels)
        child.communicate(b"\n")
    assert not is_alive(labels)


def test_neither_is_another_with_the_same_number():
    assert not is_alive(owner() | {"io.orchestrator.started": "1"})
    assert not is_alive(owner() | {"io.orchestrator.boot": "another"})
    assert not is_alive({"io.orchestrator.pid": str(os.getpid())})
    assert not is_alive({})
