from hypothesis import given
from hypothesis import strategies as st

from builders import versions
from orchestrator.matrix import pick
from orchestrator.model import VersionRange
from orchestrator.versions import SpecifierSet, Version


def picked(offered, **more):
    pairs = [(Version(text.rstrip("!")), text.endswith("!")) for text in offered]
    wanted = VersionRange(**{"specifier": SpecifierSet(">=2.1,<2.9"), **more})
    return pick(pairs, wanted)


def test_the_newest_patch_of_each_minor():
    assert picked(["2.0.1", "2.1.0", "2.1.2", "2.8.0", "2.10.0"]) == versions("2.1.2", "2.8.0")


def test_all_patches_where_asked():
    assert picked(["2.1.2", "2.1.0"], patches="all") == versions("2.1.0", "2.1.2")


def test_yanked_and_pre_releases_only_where_asked():
    offered = ["2.1.0", "2.1.1!", "2.2.0rc1"]
    assert picked(offered) == versions("2.1.0")
    assert picked(offered, yanked=True) == versions("2.1.1")
    assert picked(offered, prereleases=True) == versions("2.1.0", "2.2.0rc1")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9), st.booleans())))
def test_what_is_picked_was_offered_and_fits(rows):
    pairs = [(Version(f"{a}.{b}.{c}"), yanked) for a, b, c, yanked in rows]
    found = pick(pairs, VersionRange(specifier=SpecifierSet(">=1")))
    usable = {version for version, yanked in pairs if not yanked and version >= Version("1")}
    assert set(found) <= usable
    assert {(v.major, v.minor) for v in found} == {(v.major, v.minor) for v in usable}
    assert list(found) == sorted(found)
