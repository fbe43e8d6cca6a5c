"""What a wheel requires, read from wherever it is at hand."""

from __future__ import annotations

import hashlib
import threading
import zipfile

import pytest

from orchestrator.model import Distribution
from orchestrator.versions import Version
from orchestrator.wheels.cache import WheelCache
from orchestrator.wheels.metadata import requires
from upstream import Mood, Upstream
from wheelhouse import Wheelhouse

TEXT = "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n"


@pytest.fixture
def up():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def wheels(tmp_path):
    cache = WheelCache(tmp_path / "cache", limit=1 << 30)
    yield cache
    cache.settle()


def distribution(url, content=b""):
    return Distribution(
        name="thing",
        version=Version("1.0"),
        url=url,
        sha256=hashlib.sha256(content).hexdigest(),
        size=None,
        index="default",
    )


def read(one, wheels):
    found = requires(one, wheels)
    return None if found is None else [str(requirement) for requirement in found]


def served(up, text, *moods, name="thing"):
    """Return a wheel that is only on an index, with its metadata beside it."""
    url = f"http://{up.address}/{name}-1.0-py3-none-any.whl"
    up.put(f"/{name}-1.0-py3-none-any.whl.metadata", text.encode(), *moods)
    return distribution(url)


def written(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return distribution(path.as_uri())


def test_a_file_of_ones_own_is_read(tmp_path, wheels):
    path = Wheelhouse(tmp_path / "house").add(
        "thing", "1.0", requires=("numpy==1.26.4", "tinydep>=1; extra == 'x'")
    )
    assert read(distribution(path.as_uri()), wheels) == ["numpy==1.26.4", 'tinydep>=1; extra == "x"']


def test_a_wheel_in_the_cache_is_read_and_nothing_asked_for(tmp_path, up, wheels):
    content = Wheelhouse(tmp_path / "house").add("thing", "1.0", requires=("numpy==1.26.4",)).read_bytes()
    one = distribution(up.put("/cached/thing-1.0-py3-none-any.whl", content), content)
    wheels.fetch(one, threading.Event())
    up.asked.clear()
    assert read(one, wheels) == ["numpy==1.26.4"]
    assert up.asked == []


def test_where_there_is_no_wheel_its_metadata_is_read_and_the_wheel_left_alone(up, wheels):
    one = served(up, f"{TEXT}Requires-Dist: triton (==2.1.0)\nRequires-Dist: filelock\n", name="beside")
    assert read(one, wheels) == ["triton==2.1.0", "filelock"]
    assert [asked.path for asked in up.asked] == ["/beside-1.0-py3-none-any.whl.metadata"]
    assert wheels.path(one) is None


def test_what_an_url_says_of_the_hash_is_no_part_of_the_name(up, wheels):
    one = served(up, f"{TEXT}Requires-Dist: filelock\n", name="hashed")
    assert read(distribution(f"{one.url}#sha256=0123"), wheels) == ["filelock"]


def test_a_wheel_that_requires_nothing_is_not_an_unknown_one(up, wheels):
    assert read(served(up, TEXT, name="alone"), wheels) == []


def test_text_below_the_headers_is_no_requirement(up, wheels):
    text = f"{TEXT}Requires-Dist: filelock\n\nRequires-Dist: numpy\n"
    assert read(served(up, text, name="described"), wheels) == ["filelock"]


def test_lines_that_are_no_requirements_are_passed_over(up, wheels):
    lines = ("numpy==", "???", "old (>=1.0-2 or so)", "ok==1")
    text = TEXT + "".join(f"Requires-Dist: {line}\n" for line in lines)
    assert read(served(up, text, name="broken"), wheels) == ["ok==1"]


def test_neither_wheel_nor_metadata(tmp_path, up, wheels):
    assert read(distribution(f"http://{up.address}/missing-1.0-py3-none-any.whl"), wheels) is None
    assert read(served(up, TEXT, Mood(status=500), name="failing"), wheels) is None
    assert read(distribution((tmp_path / "gone-1.0-py3-none-any.whl").as_uri()), wheels) is None


def test_a_server_that_is_gone(up, wheels):
    with Upstream() as other:
        address = other.address
    assert read(distribution(f"http://{address}/nowhere-1.0-py3-none-any.whl"), wheels) is None


def test_metadata_of_what_a_wheel_brings_along_is_not_its_own(tmp_path, wheels):
    one = written(
        tmp_path / "thing-1.0-py3-none-any.whl",
        {
            "thing/_vendor/other-3.0.dist-info/METADATA": f"{TEXT}Requires-Dist: wrong==1\n",
            "thing-1.0.dist-info/METADATA": f"{TEXT}Requires-Dist: right==1\n",
        },
    )
    assert read(one, wheels) == ["right==1"]


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"PK\x03\x04 cut off"])
def test_what_is_no_archive(tmp_path, wheels, content):
    path = tmp_path / "thing-1.0-py3-none-any.whl"
    path.write_bytes(content)
    assert read(distribution(path.as_uri()), wheels) is None


def test_an_archive_without_metadata(tmp_path, wheels):
    assert read(written(tmp_path / "thing-1.0-py3-none-any.whl", {"thing/__init__.py": ""}), wheels) is None


def test_an_archive_whose_metadata_is_damaged(tmp_path, wheels):
    path = tmp_path / "thing-1.0-py3-none-any.whl"
    name = "thing-1.0.dist-info/METADATA"
    one = written(path, {name: TEXT + "".join(f"Requires-Dist: d{number}=={number}\n" for number in range(300))})
    content = bytearray(path.read_bytes())
    start = content.index(name.encode()) + len(name)
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    assert read(one, wheels) is None
