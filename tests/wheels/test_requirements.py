from dataclasses import replace

from containers import distribution
from orchestrator.execute.port import Base, Step
from orchestrator.wheels.requirements import carries_credentials, local_wheels, requirements
from wheelhouse import Wheelhouse

BASE = Base(python="3.11", digest="base", reference="base", origin="test")


def test_lines(tmp_path):
    wheel = Wheelhouse(tmp_path / "a house").add("thing", "1.0")
    here = distribution(wheel)
    there = replace(
        here, name="other", url="https://index.example/other-1.0-py3-none-any.whl#sha256=0", sha256="ab"
    )
    step = Step(key="k", parent=None, base=BASE, distributions=(here, there))
    assert requirements(step, wheels="/tmp/w").splitlines() == [
        f"thing @ file:///tmp/w/thing-1.0-py3-none-any.whl --hash=sha256:{here.sha256}",
        "other @ https://index.example/other-1.0-py3-none-any.whl --hash=sha256:ab",
    ]
    assert requirements(step).splitlines()[0] == f"thing @ {wheel.as_uri()} --hash=sha256:{here.sha256}"
    assert local_wheels(step) == {wheel.name: wheel}


def test_credentials(tmp_path):
    plain = distribution(Wheelhouse(tmp_path).add("thing", "1.0"))
    assert not carries_credentials(plain)
    assert not carries_credentials(replace(plain, url="https://index.example/thing@1.0.whl"))
    assert carries_credentials(replace(plain, url="https://user:secret@index.example/thing.whl"))
    assert carries_credentials(replace(plain, url="https://token@index.example/thing.whl"))
