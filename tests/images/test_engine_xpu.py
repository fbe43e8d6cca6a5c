"""The Dockerfile of Intel's driver on a real engine, with both builders and a repository made for the test."""

from __future__ import annotations

import io
import ipaddress
import json
import shutil
import threading
import uuid

import pytest

import aptrepo
from containers import BASE, IMAGES, Bench, lock, payload, prepared, quiet, settings, wheels
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.docker import DockerRuntime
from orchestrator.execute.port import StepFailedError
from orchestrator.images import Engine, connect
from orchestrator.images.buildkit import find_buildkit
from orchestrator.images.inside import read_inside
from orchestrator.images.inventory import RECIPE
from orchestrator.images.recipes import packages
from orchestrator.model import BaseImage

pytestmark = pytest.mark.engine

OLD = {"intel-opencl-icd": "23.1", "intel-level-zero-gpu": "1.3", "level-zero": "1.14"}
LTS = {"libze1": "1.20", "libze-intel-gpu1": "25.05", "intel-opencl-icd": "25.05"}
ROLLING = {"libze1": "1.24", "libze-intel-gpu1": "25.40", "intel-opencl-icd": "25.40", "clinfo": "3.0"}


@pytest.fixture(scope="module")
def api():
    client = connect(60)
    yield client
    client.close()


@pytest.fixture(scope="module")
def repository(tmp_path_factory, api):
    if (program := aptrepo.missing()) is not None:
        pytest.skip(f"there is no {program} here to make an apt repository with")
    made = aptrepo.AptRepository(tmp_path_factory.mktemp("apt") / "repository")
    made.publish("bookworm/lts/2350", OLD)
    made.publish("bookworm/lts/2523", LTS)
    made.publish("bookworm", ROLLING)
    # An address of this host that containers on the engine's own network reach.
    subnet = ipaddress.ip_network(api.inspect_network("bridge")["IPAM"]["Config"][0]["Subnet"])
    server = made.serve(str(subnet[1]))
    made.url = f"http://{server.server_address[0]}:{server.server_address[1]}"
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("xpu")


@pytest.fixture(scope="module")
def system(shared, api):
    """The bootstrapped base without any apt source: what is installed comes from the test's repository."""
    runtime = DockerRuntime(shared / "cache", settings("classic"), wheels(shared))
    base = runtime.base(BASE, quiet)
    runtime._bases.ensure(base, quiet, timeout=600, cancel=threading.Event())
    name = f"orchestrator-test/system:{uuid.uuid4().hex[:12]}"
    unwanted = "/opt/venv /opt/uv /out /etc/apt/sources.list /etc/apt/sources.list.d/*"
    text = f"FROM {base.reference}\nRUN rm -rf {unwanted}\n"
    for event in api.build(fileobj=io.BytesIO(text.encode()), tag=name, rm=True, forcerm=True, decode=True):
        assert "error" not in event, event
    yield name
    runtime.close()
    api.remove_image(name, force=True)


@pytest.fixture
def builder():
    """The builder, where a test does not ask for both."""
    return "classic"


@pytest.fixture
def runtime(builder, shared, tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)  # the repository is on this host
    if builder == "buildkit":
        engine = Engine()
        works = find_buildkit(engine, shared / "lock") is not None
        engine.close()
        if not works:
            pytest.skip("no docker command here builds with BuildKit")
    images = tmp_path / "images"
    shutil.copytree(IMAGES, images)
    recipe = images / "xpu.Dockerfile"
    # Other runs may be under way on the same engine, and earlier ones may have left their images.
    recipe.write_text(f"# {uuid.uuid4().hex}\n{recipe.read_text()}")
    opened = DockerRuntime(
        tmp_path / "cache", settings(builder, images), wheels(shared), payload=payload(shared / "payload")
    )
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def nothing_stays(api):
    before = images_of(api, RECIPE), images_of(api, "orchestrator/base")
    yield
    for name in (images_of(api, RECIPE) - before[0]) | (images_of(api, "orchestrator/base") - before[1]):
        api.remove_image(name)


def images_of(api, repository):
    return {tag for image in api.images(repository) for tag in image["RepoTags"] or ()}


def driver(system, repository, **arguments):
    given = {"REPOSITORY": repository.url, "KEY": f"{repository.url}/intel-graphics.key", **arguments}
    return BaseImage(python="3.11", image=system, debian=None, dockerfile="xpu.Dockerfile", arguments=given)


@pytest.mark.parametrize("builder", [pytest.param("classic", marks=pytest.mark.long), "buildkit"])
def test_the_train_decides_what_is_installed_and_what_the_base_is(runtime, system, repository, api, tmp_path):
    found = {}
    for train, wanted in (("lts/2350", OLD), ("lts/2523", LTS), ("rolling", ROLLING)):
        extra = {"EXTRA": "clinfo"} if train == "rolling" else {}
        image = driver(system, repository, TRAIN=train, KEY_SHA256=repository.key_sha256, **extra)
        base = runtime.base(image, quiet)
        assert runtime.base(image, quiet) == base
        assert f"TRAIN={train}" in base.origin
        found[base.digest] = train
        locked = lock()
        step = prepared(runtime, base, locked)
        try:
            bench = Bench(runtime, step, locked, tmp_path / f"run-{train.replace('/', '-')}")
            raw = bench.run(
                "print(json.dumps([open('/opt/orchestrator/packages.txt').read().split(),"
                " sorted(os.listdir('/usr/share/driver')),"
                " [p for p in ('/tmp/build', '/etc/apt/sources.list.d/intel-graphics.list',"
                " '/usr/share/keyrings/intel-graphics.asc') if os.path.exists(p)]]))"
            )
            listed, installed, left = json.loads(raw.log)
            assert installed == sorted(wanted)
            assert {f"{name}={version}" for name, version in wanted.items()} <= set(listed)
            assert left == []
        finally:
            runtime.discard(step.key)
    assert len(found) == 3


@pytest.mark.long
def test_a_package_is_pinned_by_its_version(runtime, system, repository):
    repository.publish("bookworm/lts/9", {"libze1": "1.1"})
    repository.publish("bookworm/lts/9", {"libze1": "1.2"})
    image = driver(system, repository, TRAIN="lts/9", PACKAGES="libze1=1.1")
    runtime.base(image, quiet)
    (tag,) = (tag for tag in images_of(runtime._engine.api, RECIPE))
    status = packages(read_inside(runtime._engine, tag, "/var/lib/dpkg/status"))
    assert "libze1=1.1/amd64" in status


@pytest.mark.long
def test_what_the_archive_has_meanwhile_is_another_base(runtime, system, repository, tmp_path):
    repository.publish("bookworm/lts/7", {"libze1": "1.1"})
    image = driver(system, repository, TRAIN="lts/7", PACKAGES="libze1")
    first = runtime.base(image, quiet)
    (tag,) = images_of(runtime._engine.api, RECIPE)
    runtime._engine.api.remove_image(tag)
    repository.publish("bookworm/lts/7", {"libze1": "1.2"})
    assert runtime.base(image, quiet) == first, "remembered, without asking anybody"
    with pytest.raises(StepFailedError, match="start again to run on that one"):
        prepared(runtime, first, lock())
    second = runtime.base(image, quiet)
    assert second.digest != first.digest
    recipe = tmp_path / "images" / "xpu.Dockerfile"
    recipe.write_text(recipe.read_text().replace("ARG TRAIN", "ARG UNUSED\nARG TRAIN"))
    assert runtime.base(image, quiet).digest not in (first.digest, second.digest), "another Dockerfile"


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"TRAIN": "lts-2523"}, "TRAIN is 'lts-2523'"),
        ({"KEY_SHA256": "0" * 64}, "the key at .* has the SHA-256"),
        ({"TRAIN": "lts/1111"}, "404|does not have a Release file"),
        ({"PACKAGES": "libze9"}, "Unable to locate package libze9"),
    ],
)
def test_why_a_driver_cannot_be_had(runtime, system, repository, arguments, said):
    with pytest.raises(EnvironmentUnusableError, match=said) as caught:
        runtime.base(driver(system, repository, **arguments), quiet)
    assert "xpu.Dockerfile" in str(caught.value)


@pytest.mark.long
def test_another_key_than_the_repository_is_signed_with(runtime, system, repository, tmp_path):
    other = aptrepo.AptRepository(tmp_path / "other")
    (repository.root / "other.key").write_bytes((other.root / "intel-graphics.key").read_bytes())
    image = driver(system, repository, KEY=f"{repository.url}/other.key")
    with pytest.raises(EnvironmentUnusableError, match=r"NO_PUBKEY|not signed"):
        runtime.base(image, quiet)
