from datetime import UTC, datetime

import pytest

from builders import axis, companion, matrix, stack
from orchestrator.matrix import expand
from orchestrator.model import Device, LockedCell, Package, Unresolvable
from orchestrator.resolve import Resolver
from wheelhouse import Wheelhouse

JANUARY, MARCH, LATER = "2024-01-10T09:30:00Z", "2024-03-10T00:00:00Z", "2025-06-01T00:00:00Z"


@pytest.fixture
def house(tmp_path):
    return Wheelhouse(tmp_path / "house")


@pytest.fixture
def default_index(tmp_path, monkeypatch):
    house = Wheelhouse(tmp_path / "default")
    house.directory.mkdir()
    monkeypatch.setenv("UV_DEFAULT_INDEX", house.url)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return house


def package(name, *candidates):
    return Package(name=name, distribution=name, module=name, indexes={Device.CPU: candidates or ("house",)})


def resolved(tmp_path, *stacks, packages, indexes, **more):
    asked = matrix(*stacks, packages={p.name: p for p in packages}, indexes=indexes)
    resolver = Resolver(asked, tmp_path / "cache", **more)
    return resolver.resolve([cell for cell in expand(asked) if cell.excluded is None])


def pins(locked):
    assert isinstance(locked, LockedCell), locked
    return {d.name: str(d.version) for d in locked.lock.distributions}


def test_everything_else_is_resolved_as_of_the_release(tmp_path, house, default_index):
    house.add("engine", "1.0", requires=("helper",), uploaded=JANUARY)
    default_index.add("helper", "1.0", uploaded=JANUARY)
    default_index.add("helper", "2.0", uploaded=LATER)
    (locked,) = resolved(
        tmp_path, stack("s", axis("engine", "1.0")), packages=[package("engine")], indexes={"house": house.url}
    )
    assert pins(locked) == {"engine": "1.0", "helper": "1.0"}
    assert locked.lock.as_of == datetime(2024, 1, 24, tzinfo=UTC)
    assert {d.name: d.index for d in locked.lock.distributions} == {"engine": "house", "helper": "default"}
    assert all(len(d.sha256) == 64 and d.size for d in locked.lock.distributions)


@pytest.mark.parametrize(
    ("resolution", "expected"), [("latest", "2.0"), (datetime(2024, 2, 1, tzinfo=UTC), "1.0")]
)
def test_a_stack_chooses_its_moment(tmp_path, house, default_index, resolution, expected):
    house.add("engine", "1.0", requires=("helper",), uploaded=LATER)
    default_index.add("helper", "1.0", uploaded=JANUARY)
    default_index.add("helper", "2.0", uploaded=LATER)
    one = stack("s", axis("engine", "1.0"), resolution=resolution)
    (locked,) = resolved(tmp_path, one, packages=[package("engine")], indexes={"house": house.url})
    assert pins(locked)["helper"] == expected


def test_a_companion_follows_within_the_date(tmp_path, house, default_index):
    house.add("engine", "2.5.0", uploaded=JANUARY)
    house.add("engine", "2.5.1", uploaded=JANUARY)
    house.add("plugin", "2.5.0", uploaded=JANUARY)
    one = stack("s", axis("plugin", "2.5.0"), companions=(companion("engine", "plugin", {}, same_minor=True),))
    (locked,) = resolved(
        tmp_path, one, packages=[package("engine"), package("plugin")], indexes={"house": house.url}
    )
    assert pins(locked) == {"engine": "2.5.1", "plugin": "2.5.0"}


def test_the_first_index_that_has_it_gives_the_wheel_and_a_silent_one_is_a_warning(tmp_path, house, default_index):
    house.add("engine", "1.0", uploaded=JANUARY)
    default_index.add("engine", "1.0", uploaded=JANUARY)
    default_index.add("engine", "2.0", uploaded=MARCH)
    engine = package("engine", "silent", "house", "default")
    first, second = resolved(
        tmp_path,
        stack("s", axis("engine", "1.0", "2.0")),
        packages=[engine],
        indexes={"house": house.url, "silent": "http://127.0.0.1:9/simple"},
    )
    assert [d.index for d in first.lock.distributions] == ["house"]
    assert [d.index for d in second.lock.distributions] == ["default"]
    assert "index silent (http://127.0.0.1:9/simple/engine/) did not answer" in first.lock.warnings[0]


def test_no_index_that_answers_is_not_a_fact_about_the_version(tmp_path, default_index):
    (failed,) = resolved(
        tmp_path,
        stack("s", axis("engine", "1.0")),
        packages=[package("engine", "silent")],
        indexes={"silent": "http://127.0.0.1:9/simple"},
    )
    assert isinstance(failed, Unresolvable)
    assert failed.transient


def test_what_cannot_be_resolved_says_so_in_the_resolvers_words_and_is_remembered(tmp_path, house, default_index):
    house.add("engine", "1.0", uploaded=JANUARY)
    house.add("plugin", "1.0", requires=("engine>=2",), uploaded=JANUARY)
    one = stack("s", axis("plugin", "1.0"), companions=(companion("engine", "plugin", {">0": "1.0"}),))
    asked = {"packages": [package("engine"), package("plugin")], "indexes": {"house": house.url}}
    (failed,) = resolved(tmp_path, one, **asked)
    assert isinstance(failed, Unresolvable)
    assert not failed.transient
    assert "plugin depend on engine>=2" in failed.reason
    house.add("engine", "2.0", uploaded=JANUARY)
    house.directory.rename(tmp_path / "gone")
    assert resolved(tmp_path, one, **asked) == (failed,)


def test_a_lock_stays_until_it_is_refreshed(tmp_path, house, default_index):
    house.add("engine", "1.0", requires=("helper",), uploaded=JANUARY)
    default_index.add("helper", "1.0", uploaded=JANUARY)
    asked = {"packages": [package("engine")], "indexes": {"house": house.url}}
    one = stack("s", axis("engine", "1.0"))
    (before,) = resolved(tmp_path, one, **asked)
    default_index.add("helper", "1.1", uploaded=JANUARY)
    assert resolved(tmp_path, one, **asked) == (before,)
    (after,) = resolved(tmp_path, one, **asked, refresh=True)
    assert pins(after)["helper"] == "1.1"
    assert after.lock.digest != before.lock.digest


def test_an_index_without_upload_times_is_taken_as_it_is_and_says_so(tmp_path, house, default_index):
    house.add("engine", "1.0", requires=("helper",))
    default_index.add("helper", "1.0")
    (locked,) = resolved(
        tmp_path, stack("s", axis("engine", "1.0")), packages=[package("engine")], indexes={"house": house.url}
    )
    assert locked.lock.as_of is None
    assert any("upload" in warning for warning in locked.lock.warnings)


def test_a_helper_comes_from_its_own_index_only_where_the_closure_needs_it(tmp_path, house, default_index):
    """The shape of pytorch-triton-xpu: a dependency whose name on the default index may be anybody's."""
    house.add("engine", "1.0", requires=("kernels==1.0",), uploaded=JANUARY)
    house.add("engine", "2.0", uploaded=JANUARY)
    house.add("kernels", "1.0", uploaded=JANUARY)
    default_index.add("kernels", "1.0", {"kernels/__init__.py": "raise SystemExit('squatted')"}, uploaded=JANUARY)
    old, new = resolved(
        tmp_path,
        stack("s", axis("engine", "1.0", "2.0")),
        packages=[package("engine"), package("kernels")],
        indexes={"house": house.url},
    )
    assert {d.name: d.index for d in old.lock.distributions} == {"engine": "house", "kernels": "house"}
    assert pins(new) == {"engine": "2.0"}


def test_what_only_a_later_release_could_satisfy_is_unresolvable_and_not_resolved_as_of_today(
    tmp_path, house, default_index
):
    house.add("engine", "1.0", requires=("helper>=2",), uploaded=JANUARY)
    default_index.add("helper", "1.0", uploaded=JANUARY)
    default_index.add("helper", "2.0", uploaded=LATER)
    (failed,) = resolved(
        tmp_path, stack("s", axis("engine", "1.0")), packages=[package("engine")], indexes={"house": house.url}
    )
    assert isinstance(failed, Unresolvable)
    assert "helper" in failed.reason


def test_a_resolution_date_is_taken_as_it_is(tmp_path, house, default_index):
    house.add("engine", "1.0", uploaded=JANUARY)
    moment = datetime(2024, 2, 1, 23, 59, 59, tzinfo=UTC)
    one = stack("s", axis("engine", "1.0"), resolution=moment)
    (locked,) = resolved(tmp_path, one, packages=[package("engine")], indexes={"house": house.url})
    assert locked.lock.as_of == moment
