"""Which images of ours there are, on an engine made of a list, and on a real one."""

from __future__ import annotations

import io
import tarfile
import uuid
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from docker.errors import APIError, ImageNotFound
from requests import Response

from many_locks import BASE, wheel
from orchestrator.execute.port import Base, Step
from orchestrator.images import Engine, Inventory
from orchestrator.images.inventory import base_reference, reference
from orchestrator.images.labels import BASE_LABEL, TOOL_LABEL, WHEELS_LABEL, base_labels, step_labels

DAY = datetime(2026, 1, 1, tzinfo=UTC)
GROUND = replace(BASE, digest="b" * 64)
OTHER = replace(BASE, digest="c" * 64)
MB = 10**6


def step(letter: str, parent: str | None = None, *, base: Base = GROUND) -> Step:
    below = parent and parent * 64
    return Step(
        key=letter * 64,
        parent=below,
        base=base,
        platform="linux",
        distributions=(wheel(f"package-{letter}", 10),),
    )


@dataclass
class Images:
    """The handful of calls of an engine's API, on a list of images."""

    there: list[dict] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """Names that containers use."""
    broken: bool = False
    now: datetime = DAY

    def add(self, *names: str, labels: dict | None = None, size: int = 0) -> dict:
        image = {
            "Id": f"sha256:{len(self.there)}",
            "RepoTags": list(names) or None,
            "Labels": labels,
            "Size": size,
            "Created": int(self.now.timestamp()),
            "Tagged": "0001-01-01T00:00:00Z",
        }
        self.there.append(image)
        return image

    def names(self) -> set[str]:
        return {name for image in self.there for name in image["RepoTags"] or ()}

    def close(self) -> None:
        pass

    def images(self, name: str | None = None, *, filters: dict | None = None) -> list[dict]:
        wanted = [label.partition("=") for label in (filters or {}).get("label", ())]
        return [
            image
            for image in self.there
            if all(key in (image["Labels"] or {}) for key, _, _ in wanted)
            and all(not value or image["Labels"][key] == value for key, _, value in wanted)
            and (name is None or any(tag.split(":")[0] == name for tag in image["RepoTags"] or ()))
        ]

    def inspect_image(self, name: str) -> dict:
        image = self._found(name)
        return {"Id": image["Id"], "Metadata": {"LastTagTime": image["Tagged"]}}

    def tag(self, name: str, repository: str, tag: str) -> None:
        image = self._found(name)
        assert f"{repository}:{tag}" in image["RepoTags"], "a use gives no new name"
        image["Tagged"] = self.now.isoformat().replace("+00:00", "000Z")

    def remove_image(self, name: str) -> None:
        image = self._found(name)
        if self.broken or name in self.used:
            answer = Response()
            answer.status_code = 500 if self.broken else 409
            raise APIError("no", answer)
        image["RepoTags"].remove(name)
        self.there = [other for other in self.there if other["RepoTags"] != []]

    def _found(self, name: str) -> dict:
        for image in self.there:
            if name == image["Id"] or name in (image["RepoTags"] or ()):
                return image
        raise ImageNotFound(name)


@pytest.fixture
def images():
    """A base that was bootstrapped, a chain of two layers on it, and things of others."""
    there = Images()
    there.add("debian:bookworm", size=80 * MB)
    there.add("orchestrator/bootstrap:bookworm-3.11", size=100 * MB)
    there.add(base_reference(GROUND.digest), labels=base_labels(GROUND), size=150 * MB)
    for made, size in ((step("1"), 1150 * MB), (step("2", "1"), 1400 * MB)):
        there.add(reference(made.key), labels=step_labels(made), size=size)
    return there


@pytest.fixture
def inventory(images):
    return Inventory(Engine(lambda _timeout: images))


LAYERS = ("1" * 64, "2" * 64)
KEYS = {GROUND.digest, *LAYERS}
BOOTSTRAP = "orchestrator/bootstrap:bookworm-3.11"


def test_what_is_held_is_what_was_made(inventory):
    held = inventory.held()
    assert set(held) == KEYS
    base, one, two = held[GROUND.digest], held["1" * 64], held["2" * 64]
    assert (base.key, base.parent, base.base, base.wheels) == (GROUND.digest, None, GROUND.digest, ())
    assert base.title == "base"
    assert (one.parent, one.base, one.platform) == (None, GROUND.digest, "linux")
    assert (two.parent, two.base) == ("1" * 64, GROUND.digest)
    assert (one.wheels, two.wheels) == (step("1").wheels, step("2").wheels)
    assert [at.size for at in (base, one, two)] == [150 * MB, 1000 * MB, 250 * MB]
    assert {at.used for at in held.values()} == {DAY}


def test_images_of_others_and_without_their_name_are_not_held(images, inventory):
    images.add(labels=step_labels(step("3")))
    images.add("renamed:1", labels=step_labels(step("4")))
    images.add(reference("5" * 64), labels={**step_labels(step("5")), TOOL_LABEL: "another"})
    images.add(reference("6" * 64), labels={TOOL_LABEL: "matrix-orchestrator"})
    assert set(inventory.held()) == KEYS


def test_labels_of_another_version(images, inventory):
    labels = step_labels(step("3"))
    del labels[BASE_LABEL]
    images.add(reference("3" * 64), labels={**labels, WHEELS_LABEL: "?"}, size=5)
    held = inventory.held()["3" * 64]
    assert (held.base, held.wheels, held.size) == ("", (), 5)


def test_use_moves_the_time_of_the_last_tag(images, inventory):
    images.now = DAY + timedelta(microseconds=1)
    inventory.touch("1" * 64)
    held = inventory.held()
    assert held["1" * 64].used == images.now
    assert held["2" * 64].used == DAY
    inventory.touch("9" * 64)
    assert inventory.held() == held


@pytest.mark.parametrize("tagged", ["", None, "yesterday", "0001-01-01T00:00:00Z", "2020-01-01T01:00:00.5+01:00"])
def test_a_time_that_tells_nothing_is_that_of_the_making(images, inventory, tagged):
    images.there[-1]["Tagged"] = tagged
    assert inventory.held()["2" * 64].used == DAY


def test_a_time_of_another_zone(images, inventory):
    images.there[-1]["Tagged"] = "2026-03-01T12:00:00.123456789+02:00"
    assert inventory.held()["2" * 64].used == datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize("key", ["1" * 64, GROUND.digest])
def test_what_others_stand_on_stays(images, inventory, key):
    before = images.names()
    inventory.discard(key)
    assert images.names() == before


def test_from_the_top_down_everything_of_ours_goes(images, inventory):
    for place, key in enumerate(("2" * 64, "1" * 64)):
        inventory.discard(key)
        assert set(inventory.held()) == KEYS - {*LAYERS[1 - place :]}
        assert BOOTSTRAP in images.names()
    inventory.discard(GROUND.digest)
    assert images.names() == {"debian:bookworm"}


def test_the_bootstrap_image_stays_while_there_is_another_base(images, inventory):
    images.add(base_reference(OTHER.digest), labels=base_labels(OTHER))
    for key in (*reversed(LAYERS), GROUND.digest):
        inventory.discard(key)
    assert set(inventory.held()) == {OTHER.digest}
    assert BOOTSTRAP in images.names()
    inventory.discard(OTHER.digest)
    assert images.names() == {"debian:bookworm"}


def test_the_bootstrap_image_goes_only_with_a_base(images, inventory):
    """Another run may just have made it."""
    inventory.discard("9" * 64)
    assert BOOTSTRAP in images.names()
    images.remove_image(base_reference(GROUND.digest))
    for key in reversed(LAYERS):
        inventory.discard(key)
    inventory.discard("9" * 64)
    assert images.names() == {"debian:bookworm", BOOTSTRAP}


def test_what_a_container_uses_stays(images, inventory):
    images.used = {reference("2" * 64)}
    inventory.discard("2" * 64)
    assert set(inventory.held()) == KEYS


def test_a_base_that_a_container_uses_stays_with_what_it_is_made_of(images, inventory):
    for key in reversed(LAYERS):
        inventory.discard(key)
    images.used = {base_reference(GROUND.digest)}
    inventory.discard(GROUND.digest)
    assert images.names() == {"debian:bookworm", BOOTSTRAP, base_reference(GROUND.digest)}


def test_an_engine_that_fails_is_heard(images, inventory):
    images.broken = True
    with pytest.raises(APIError):
        inventory.discard("2" * 64)


def test_a_name_that_goes_in_between_is_no_trouble(images, inventory):
    listed = images.images

    def late(*arguments, **given):
        found = listed(*arguments, **given)
        images.there = [image for image in images.there if reference("2" * 64) not in (image["RepoTags"] or ())]
        return found

    images.images = late
    inventory.discard("2" * 64)
    assert "2" * 64 not in inventory.held()


@pytest.fixture(scope="module")
def engine():
    opened = Engine()
    yield opened
    opened.close()


@pytest.fixture
def imported(engine):
    """Put images with labels on the engine, without any build; they go afterwards."""
    made = []

    def put(labels: dict[str, str], size: int, name: str | None = None) -> str:
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            info = tarfile.TarInfo("content")
            info.size = size
            tar.addfile(info, io.BytesIO(uuid.uuid4().bytes * (size // 16)))
        changes = [f"LABEL {key}={quoted(value)}" for key, value in labels.items()]
        said = engine.api.import_image_from_data(file.getvalue(), repository=name, changes=changes)
        made.append(name or said.split('"status":"')[1].split('"')[0])
        return made[-1]

    yield put
    for name in reversed(made):
        try:
            engine.api.remove_image(name)
        except ImageNotFound:
            continue


def quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


@pytest.fixture
def chain(imported):
    """Two layers on a base that is not there, under names of their own, and one without a name."""
    ground = replace(BASE, digest=uuid.uuid4().hex * 2)
    one, two = (
        Step(key=uuid.uuid4().hex * 2, parent=None, base=ground, platform="linux", distributions=(wheel(name, 1),))
        for name in ("one", "two")
    )
    two = replace(two, parent=one.key)
    imported(step_labels(one), 16_000, reference(one.key))
    imported(step_labels(two), 48_000, reference(two.key))
    imported(step_labels(replace(one, key=uuid.uuid4().hex * 2)), 16_000)
    return one, two


@pytest.mark.engine
def test_an_engine_gives_back_what_the_labels_say(engine, chain):
    held = Inventory(engine).held()
    mine = {key: at for key, at in held.items() if at.base == chain[0].base.digest}
    assert set(mine) == {made.key for made in chain}
    for made, size in zip(chain, (16_000, 32_000), strict=True):
        seen = mine[made.key]
        assert (seen.parent, seen.platform, seen.wheels) == (made.parent, made.platform, made.wheels)
        assert seen.size == size


@pytest.mark.engine
def test_an_engine_knows_when_a_layer_was_used(engine, chain):
    one, two = chain
    inventory = Inventory(engine)
    before = inventory.held()
    inventory.touch(one.key)
    after = inventory.held()
    assert after[one.key].used > before[one.key].used
    assert after[two.key].used == before[two.key].used
    inventory.touch(uuid.uuid4().hex)


@pytest.mark.engine
def test_an_engine_lets_go_from_the_top_down(engine, chain):
    one, two = chain
    inventory = Inventory(engine)
    inventory.discard(one.key)
    assert {one.key, two.key} <= set(inventory.held())
    container = engine.api.create_container(reference(two.key), command=["none"])
    try:
        inventory.discard(two.key)
        assert two.key in inventory.held()
    finally:
        engine.api.remove_container(container)
    for made in (two, one):
        inventory.discard(made.key)
        assert made.key not in inventory.held()
        assert engine.image(reference(made.key)) is None
    inventory.discard(one.key)
