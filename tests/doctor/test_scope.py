from pathlib import Path

from orchestrator.config import load
from orchestrator.doctor.scope import scope_of
from orchestrator.model import Device

ROOT = Path(__file__).parents[2]


def test_without_a_matrix(tmp_path):
    scope = scope_of(None, store=tmp_path, runtime="auto", builder="auto")
    assert scope.runtimes == ("docker", "venv")
    assert [(one.name, one.url) for one in scope.indexes] == [("default", None)]
    assert (scope.bases, scope.pythons, scope.stacks) == ({}, (), {})


def test_of_the_shipped_matrix(tmp_path):
    matrix = load(ROOT / "matrix.yaml")
    scope = scope_of(matrix, store=tmp_path, runtime="venv", builder="classic")
    assert scope.runtimes == ("venv",)
    assert {one.name: one.url for one in scope.indexes} == {**matrix.indexes, "default": None}
    projects = {one.name: one.projects for one in scope.indexes}
    assert projects["pytorch-cpu"][0] == "torch"
    # Looked for there before anywhere else, unlike torch, which is only a second place's.
    assert projects["intel-xpu"][0] == "intel-extension-for-pytorch"
    assert "torch" in projects["intel-xpu"]
    assert all(projects.values())
    assert set(scope.stacks) == {stack.device for stack in matrix.stacks.values()}
    assert "ipex-xpu" in scope.stacks[Device.XPU]
    assert "3.11" in scope.pythons
