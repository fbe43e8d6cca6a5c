import os
import subprocess
import sys

from orchestrator.execute.owner import has_died, owner, start_ticks


def test_this_process_is_alive():
    assert not has_died(owner())


def test_a_process_that_has_ended():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        started = start_ticks(child.pid)
        labels = owner() | {"io.orchestrator.pid": str(child.pid), "io.orchestrator.started": started}
        assert not has_died(labels)
        child.communicate(b"\n")
    assert has_died(labels)


def test_another_process_with_the_same_number():
    assert has_died(owner() | {"io.orchestrator.started": "1"})


def test_of_other_hosts_nothing_is_known():
    assert not has_died(owner() | {"io.orchestrator.started": "1", "io.orchestrator.host": "another"})
    assert not has_died({"io.orchestrator.pid": str(os.getpid())})
    assert not has_died({})
