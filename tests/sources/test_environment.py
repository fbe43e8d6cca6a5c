"""A commit and a nightly all the way into an environment: locked, installed by a runtime, imported."""

from __future__ import annotations

import pytest

from builders import axis, matrix, stack
from containers import BASE, Bench, payload, prepared, quiet, settings, wheels
from gitproject import GitProject
from orchestrator.execute.docker import DockerRuntime
from orchestrator.execute.venv import VenvRuntime
from orchestrator.matrix import cell_at
from orchestrator.model import Device, LockedCell, Package
from orchestrator.resolve import Resolver
from orchestrator.sources import commits
from orchestrator.versions import Version
from wheelhouse import Wheelhouse


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """Return the locked cells of the commit between 1.0 and 1.1 and of the nightly between them."""
    directory = tmp_path_factory.mktemp("between")
    project = GitProject(directory / "project").start()
    project.release("1.0")
    project.commit("the change", {"tiny/__init__.py": "said = 'of the commit'\n"})
    project.release("1.1")
    nightly = Wheelhouse(directory / "nightly")
    nightly.add("tiny", "1.1.dev20240301", {"tiny/__init__.py": "said = 'of the nightly'\n"})
    tiny = Package(
        name="tiny",
        distribution="tiny",
        module="tiny",
        git=str(project.directory),
        nightlies={Device.CPU: ("nightly",)},
    )
    one = stack("s", axis("tiny", "1.0"))
    asked = matrix(one, packages={"tiny": tiny}, indexes={"nightly": nightly.url})
    (change, _) = commits(tiny, directory / "cache", Version("1.0"), Version("1.1"))
    cells = {
        "commit": cell_at(one, "3.11", {"tiny": change.version}, commits={"tiny": change.sha}),
        "nightly": cell_at(one, "3.11", {"tiny": Version("1.1.dev20240301")}),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UV_DEFAULT_INDEX", Wheelhouse(directory / "default").url)
        (directory / "default").mkdir()
        answers = Resolver(asked, directory / "cache").resolve(list(cells.values()))
    assert all(isinstance(answer, LockedCell) for answer in answers), answers
    return dict(zip(cells, (answer.lock for answer in answers), strict=True))


@pytest.fixture(params=["venv", pytest.param("docker", marks=pytest.mark.engine)])
def runtime(request, tmp_path):
    if request.param == "venv":
        yield VenvRuntime(tmp_path / "cache", wheels(tmp_path), payload=payload(tmp_path / "payload"))
        return
    runtime = DockerRuntime(
        tmp_path / "cache", settings("auto"), wheels(tmp_path), payload=payload(tmp_path / "payload")
    )
    yield runtime
    runtime.close()


@pytest.mark.parametrize("kind", ["commit", "nightly"])
def test_what_was_locked_is_what_is_imported(runtime, locked, kind, tmp_path):
    step = prepared(runtime, runtime.base(BASE, quiet), locked[kind])
    bench = Bench(runtime, step, locked[kind], tmp_path)
    try:
        assert bench.run("import tiny; print(tiny.said)").log == f"of the {kind}\n"
    finally:
        runtime.discard(step.key)
