"""What engines are told apart by, from a client that answers as they do."""

from __future__ import annotations

import pytest

from orchestrator.images.engine import Engine, tags

DOCKER = {"Components": [{"Name": "Engine"}, {"Name": "containerd"}]}
PODMAN = {"Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]}


class Client:
    """Answers `version`, and that only."""

    def __init__(self, version):
        self._version = version

    def version(self):
        return self._version

    def close(self):
        pass


def engine(version):
    return Engine(lambda _timeout: Client(version))


@pytest.mark.parametrize(("version", "expected"), [(DOCKER, False), (PODMAN, True), ({}, False)])
def test_podman_has_no_engine_above_its_containers(version, expected):
    assert engine(version).daemonless is expected


def test_people_use_the_program_of_their_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/podman/podman.sock")
    assert engine(PODMAN).command == ("docker",)
    (tmp_path / "podman").touch(mode=0o755)
    assert engine(PODMAN).command == ("podman", "--url", "unix:///run/podman/podman.sock")
    assert engine(DOCKER).command == ("docker",)


@pytest.mark.parametrize("listed", ["orchestrator/layer:1", "docker.io/orchestrator/layer:1"])
def test_names_are_ours_whoever_lists_them(listed):
    assert tags({"RepoTags": [listed]}) == ["orchestrator/layer:1"]


@pytest.mark.parametrize("image", [{}, {"RepoTags": None}, {"RepoTags": []}])
def test_images_without_a_name(image):
    assert tags(image) == []
