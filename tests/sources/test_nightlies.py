from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from builders import matrix, stack
from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.model import Device, Package
from orchestrator.resolve import Pages, nightlies
from orchestrator.sources import Build, dated, nightly_date
from orchestrator.versions import Version
from wheelhouse import Wheelhouse

LINUX = "x86_64-manylinux_2_28"


def build(version, *wheels, yanked=False):
    return Build(version=Version(version), yanked=yanked, wheels=wheels or None)


def between(builds, after="2.1.2", before="2.2.0", *, labels=(None,), python="3.11", platform=LINUX):
    found = dated(builds, Version(after), Version(before), labels=labels, python=python, platform=platform)
    return [str(one.version) for one in found]


def test_those_between_two_releases_by_date():
    builds = [
        build(text)
        for text in (
            "2.1.2", "2.2.0.dev20231010", "2.2.0.dev20230901", "2.2.0", "2.3.0.dev20231212", "2.1.0.dev20230701",
            "2.2.0rc1",
        )
    ]  # fmt: skip
    assert between(builds) == ["2.2.0.dev20230901", "2.2.0.dev20231010"]
    assert between(builds, "2.2.0.dev20230901", "2.2.0") == ["2.2.0.dev20231010"], "strictly"
    assert between(builds, "2.1.2", "2.1.3") == []


def test_several_releases_apart_the_date_decides_the_order():
    builds = [build("2.3.0.dev20231206"), build("2.2.0.dev20231207"), build("2.2.0.dev20231201")]
    assert between(builds, "2.1.0", "2.3.0") == ["2.2.0.dev20231201", "2.3.0.dev20231206", "2.2.0.dev20231207"]


def test_a_yanked_build_is_a_gap():
    builds = [build("2.2.0.dev20231010"), build("2.2.0.dev20231011", yanked=True), build("2.2.0.dev20231012")]
    assert between(builds) == ["2.2.0.dev20231010", "2.2.0.dev20231012"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("cpu", None), "2.2.0.dev20231010+cpu"),
        (("xpu",), "2.2.0.dev20231010+xpu"),
        ((None,), "2.2.0.dev20231010"),
        (("cu121",), "2.2.0.dev20231010"),
    ],
)
def test_one_build_of_a_day_with_the_wanted_label(labels, expected):
    builds = [build(f"2.2.0.dev20231010{label}") for label in ("+xpu", "", "+cpu")]
    assert between(builds, "2.1.2+cpu", "2.2.0+cpu", labels=labels) == [expected]


@pytest.mark.parametrize(
    ("wheels", "fits"),
    [
        (("cp311-cp311-linux_x86_64",), True),
        (("cp311-cp311-manylinux_2_28_x86_64",), True),
        (("cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64",), True),
        (("cp310-cp310-linux_x86_64", "cp311-cp311-linux_x86_64"), True),
        (("py3-none-any",), True),
        (("cp38-abi3-manylinux_2_17_x86_64",), True),
        (("cp310-cp310-linux_x86_64",), False),
        (("cp311-cp311-linux_aarch64",), False),
        (("cp311-cp311-manylinux_2_34_x86_64",), False),
        (("cp311-cp311-win_amd64",), False),
        (("cp311-none-macosx_11_0_arm64",), False),
    ],
)
def test_only_builds_with_a_wheel_for_the_python_and_the_platform(wheels, fits):
    assert bool(between([build("2.2.0.dev20231010", *wheels)])) == fits


def test_a_build_without_any_wheel_is_left_out_and_one_of_an_old_page_is_not():
    unknown = Build(version=Version("2.2.0.dev20231010"), yanked=False, wheels=None)
    source = Build(version=Version("2.2.0.dev20231011"), yanked=False, wheels=())
    assert between([unknown, source]) == ["2.2.0.dev20231010"]


def test_macos():
    wheel = "cp311-none-macosx_11_0_arm64"
    assert between([build("2.2.0.dev20231010", wheel)], platform="aarch64-apple-darwin") == ["2.2.0.dev20231010"]


@pytest.mark.parametrize(
    ("version", "moment"),
    [
        ("2.2.0.dev20231010+cpu", datetime(2023, 10, 10, tzinfo=UTC)),
        ("2.2.0.dev202310101530", datetime(2023, 10, 10, 15, 30, tzinfo=UTC)),
        ("2.2.0.dev7", None),
        ("2.2.0.dev20231399", None),
        ("2.2.0", None),
    ],
)
def test_a_date_is_read_of_development_numbers_only(version, moment):
    assert nightly_date(Version(version)) == moment


class TestOnAnIndex:
    @pytest.fixture
    def house(self, tmp_path):
        house = Wheelhouse(tmp_path / "house")
        for version in ("2.1.0+cpu", "2.2.0.dev20231010+cpu", "2.2.0.dev20231010", "2.2.0.dev20231009+cpu"):
            house.add("engine", version)
        house.add("engine", "2.2.0.dev20231011+cpu", yanked=True)
        return house

    @staticmethod
    def asked(tmp_path, indexes, device=Device.CPU, **named):
        package = Package(name="engine", distribution="engine", module="engine", nightlies=named)
        one = stack("s", device=device)
        asked = matrix(one, packages={"engine": package}, indexes=indexes)
        pages = Pages(tmp_path / "cache", indexes)
        return nightlies(asked, pages, one, "engine", Version("2.1.0"), Version("2.2.0"), python="3.11")

    def test_its_builds_with_the_label_of_the_device(self, tmp_path, house):
        found = self.asked(tmp_path, {"nightly": house.url}, cpu=("nightly",))
        assert [(str(one.version), one.date) for one in found] == [
            ("2.2.0.dev20231009+cpu", date(2023, 10, 9)),
            ("2.2.0.dev20231010+cpu", date(2023, 10, 10)),
        ]

    def test_a_kept_page_tells_the_same(self, tmp_path, house):
        first = self.asked(tmp_path, {"nightly": house.url}, cpu=("nightly",))
        (house.directory / "engine" / "index.html").unlink()
        assert self.asked(tmp_path, {"nightly": house.url}, cpu=("nightly",)) == first

    def test_a_device_without_an_index_says_which_key_is_missing(self, tmp_path, house):
        with pytest.raises(ConfigError, match="development builds of engine for xpu") as caught:
            self.asked(tmp_path, {"nightly": house.url}, Device.XPU, cpu=("nightly",))
        assert "nightlies: {xpu: [INDEX]}" in caught.value.hint

    def test_an_index_that_does_not_answer_is_no_gap(self, tmp_path):
        with pytest.raises(EnvironmentUnusableError, match="did not answer"):
            self.asked(tmp_path, {"nightly": "http://127.0.0.1:9/simple"}, cpu=("nightly",))
