"""What end-to-end tests in containers share."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture(scope="module")
def layers_are_removed():
    """Remove the layers that a module built; the base below them stays for the next."""
    before = layers()
    yield
    for image in sorted(layers() - before):
        subprocess.run(["docker", "image", "rm", image], capture_output=True, check=False)


def layers() -> set[str]:
    command = ["docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "orchestrator/layer"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
