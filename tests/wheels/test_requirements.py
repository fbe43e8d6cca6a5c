from dataclasses import replace
from pathlib import Path

from containers import distribution
from orchestrator.execute.port import Base, Step
from orchestrator.wheels.requirements import carries_credentials, indexed, local_path, named, requirements
from wheelhouse import Wheelhouse

BASE = Base(python="3.11", digest="base", reference="base", origin="test")


def test_lines(tmp_path):
    wheel = Wheelhouse(tmp_path / "a house").add("thing", "1.0")
    here = distribution(wheel)
    there = replace(
        here, name="other", url="https://index.example/other-1.0-py3-none-any.whl#sha256=0", sha256="ab"
    )
    step = Step(key="k", parent=None, base=BASE, platform="linux", distributions=(here, there))
    remote = "other @ https://index.example/other-1.0-py3-none-any.whl --hash=sha256:ab"
    hashed = f"--hash=sha256:{here.sha256}"
    assert requirements(step).splitlines() == ["--no-index", f"thing @ {wheel.as_uri()} {hashed}", remote]
    elsewhere = requirements(step, at=lambda d: Path("/tmp/w") / wheel.name if d is here else None)
    assert elsewhere.splitlines() == ["--no-index", f"thing @ file:///tmp/w/{wheel.name} {hashed}", remote]
    served = indexed(step, "http://localhost:1/simple/")
    assert served.splitlines() == [
        "--index-url http://localhost:1/simple/",
        f"thing==1.0 {hashed}",
        "other==1.0 --hash=sha256:ab",
    ]
    assert named(step) == "thing==1.0\nother==1.0\n"
    assert (local_path(here), local_path(there)) == (wheel, None)


def test_credentials(tmp_path):
    plain = distribution(Wheelhouse(tmp_path).add("thing", "1.0"))
    assert not carries_credentials(plain)
    assert not carries_credentials(replace(plain, url="https://index.example/thing@1.0.whl"))
    assert carries_credentials(replace(plain, url="https://user:secret@index.example/thing.whl"))
    assert carries_credentials(replace(plain, url="https://token@index.example/thing.whl"))
