"""Cells whose packages are in an image already: the image is used as it is, and what is in it is looked at."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import uuid
import zipfile
from pathlib import Path

import pytest

import history
from containers import BASE, quiet, settings, wheels
from orchestrator.execute.docker import DockerRuntime
from orchestrator.images import Engine, Inventory
from wheelhouse import Wheelhouse

ROOT = Path(__file__).parents[2]

MATRIX = """\
version: 1
probes: probes
images: {{dockerfiles: images}}
bases: {{"3.11": {{image: "python:3.11-slim", debian: bookworm}}}}
limits: {{probe-timeout: 5s, memory: 1GB, shm: 64MB}}
packages: {{tinylib: {{}}}}
stacks:
  tiny:
    device: cpu
    axes: {{tinylib: ["1.4", "1.6", "1.8"]}}
    requirements: [numpy]
    prebuilt:
      - {{tinylib: "1.4", image: "{image}:old"}}
      - {{tinylib: "<1.8", image: "{image}:new"}}
      - {{image: "{image}:old"}}
issues:
  introduced: {{title: introduced, subject: {{tiny: tinylib}}, probes: ["test_tiny.py::test_introduced"]}}
"""
# As a vendor may leave it: its own user, an entrypoint, and its Python in a place of its own.
DOCKERFILE = """\
FROM {base}
RUN rm -rf /opt/venv /opt/uv /out && python3 -m venv --without-pip /srv/python && useradd vendor
COPY site /srv/python/lib/python3.11/site-packages
ENV PATH=/srv/python/bin:$PATH VENDOR=yes
ENTRYPOINT ["/bin/false"]
USER vendor
LABEL io.orchestrator.step="" io.orchestrator.tool=""
"""


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """The name of two images, `old` with tinylib 1.4 and `new` with 1.6, and other versions of tinydep."""
    directory = tmp_path_factory.mktemp("images")
    runtime = DockerRuntime(directory / "cache", settings("classic"), wheels(directory))
    base = runtime.base(BASE, quiet)
    runtime._bases.ensure(base, quiet, timeout=600, cancel=threading.Event())
    name = f"orchestrator-test/prebuilt-{uuid.uuid4().hex[:12]}"
    house = Wheelhouse(directory / "house")
    api = runtime._engine.api
    for tag, minor, dependency in (("old", 4, "1.0"), ("new", 6, "2.0")):
        packed = [
            house.add("tinylib", f"1.{minor}", {"tinylib/__init__.py": history.source(minor)}),
            house.add("tinydep", dependency),
        ]
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as tar:
            _add(tar, "Dockerfile", DOCKERFILE.format(base=base.reference).encode())
            for wheel in packed:
                with zipfile.ZipFile(wheel) as archive:
                    for member in archive.namelist():
                        _add(tar, f"site/{member}", archive.read(member))
        context.seek(0)
        for event in api.build(fileobj=context, custom_context=True, tag=f"{name}:{tag}", rm=True, decode=True):
            assert "error" not in event, event
    yield name
    for tag in ("old", "new"):
        api.remove_image(f"{name}:{tag}", force=True)
    runtime.close()


def _add(tar, name, content):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mode = 0o644
    tar.addfile(info, io.BytesIO(content))


@pytest.fixture(scope="module")
def project(tmp_path_factory, images):
    directory = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "tests" / "support" / "tiny_probes", directory / "probes")
    shutil.copytree(ROOT / "images", directory / "images")
    (directory / "matrix.yaml").write_text(MATRIX.format(image=images), encoding="utf-8")
    yield directory
    engine = Engine()
    try:
        inventory = Inventory(engine)
        bases = {path.stem for path in (directory / ".orchestrator/cache/docker/contents").glob("*.json")}
        for key, held in inventory.held().items():
            if held.base in bases and key != held.base:
                inventory.discard(key)
        for base in bases:
            engine.api.remove_image(f"orchestrator/base:{base[:24]}")
    finally:
        engine.close()


def orchestrator(directory, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def report(directory, name, *arguments):
    done = orchestrator(directory, "run", "matrix.yaml", "--report", f"json:{name}", *arguments)
    assert (directory / name).exists(), done.stderr
    return done, json.loads((directory / name).read_text(encoding="utf-8"))


def outcomes(told):
    (result,) = told["results"]
    return {version: cell["outcome"] for version, cell in result["cells"].items()}


@pytest.mark.engine
def test_an_image_is_used_as_it_is(project):
    done, told = report(project, "first.json", "--runtime", "docker", "--builder", "classic")
    assert outcomes(told) == {"1.4": "pass", "1.6": "fail", "1.8": "build-failed"}, done.stderr
    reasons = [cell["reason"] for cell in told["cells"] if cell["status"] == "build-failed"]
    assert reasons == ["tinylib replaced: wanted 1.8, got 1.4"]
    (result,) = told["results"]
    (transition,) = result["transitions"]
    assert (transition["kind"], transition["after"], transition["version"]) == ("introduced", "1.4", "1.6")
    (evidence,) = told["evidence"]
    (moved,) = evidence["transitions"][0]["moved"]
    assert (moved["name"], moved["before"], moved["after"]) == ("tinydep", "1.0", "2.0"), "what else is in there"
    pins = told["environments"]["tiny-py3.11-tinylib1.4"]
    assert {pin["name"] for pin in pins} == {"tinydep", "tinylib"}
    assert all(pin["index"].startswith("docker://orchestrator-test/prebuilt-") for pin in pins)

    again, same = report(project, "second.json", "--runtime", "docker", "--builder", "classic")
    assert "measuring 1 of 3 cells" in again.stderr, "what failed to be made is tried again, and nothing else"
    assert outcomes(same) == outcomes(told)


@pytest.mark.engine
def test_explained(project):
    cells = orchestrator(project, "list", "matrix.yaml", "--format", "ids").stdout.split()
    done = orchestrator(project, "explain", "matrix.yaml", cells[0], "--runtime", "docker")
    assert "from (image)" in done.stdout, done.stderr
    assert "numpy" not in done.stdout


def test_virtual_environments_have_no_images(tmp_path):
    shutil.copytree(ROOT / "tests" / "support" / "tiny_probes", tmp_path / "probes")
    shutil.copytree(ROOT / "images", tmp_path / "images")
    (tmp_path / "matrix.yaml").write_text(MATRIX.format(image="example/none"), encoding="utf-8")
    done, told = report(tmp_path, "venv.json", "--runtime", "venv")
    assert set(outcomes(told).values()) == {"infra"}, done.stderr
    assert "is a prebuilt image" in told["cells"][0]["reason"]
