import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import axis, companion, exclusion, matrix, stack, versions
from orchestrator.matrix import cell_at, cell_id, expand
from orchestrator.matrix.expand import MAX_CELLS
from orchestrator.model import Axis, VersionRange
from orchestrator.versions import SpecifierSet, Version


def test_the_product_of_the_axes_in_version_order():
    made = expand(matrix(stack("s", axis("torch", "2.10.0", "2.9.0"), axis("ao", "0.1"), python=("3.12", "3.9"))))
    assert [cell.id for cell in made] == [
        "s-py3.9-torch2.9.0-ao0.1",
        "s-py3.9-torch2.10.0-ao0.1",
        "s-py3.12-torch2.9.0-ao0.1",
        "s-py3.12-torch2.10.0-ao0.1",
    ]


def test_a_companion_follows_by_pairs_ranges_and_minor():
    rules = companion("torch", "xla", {"==2.6.1": "2.6.0", "<2.2": ">=2.1,<2.2"}, same_minor=True)
    made = expand(matrix(stack("s", axis("xla", "2.1.0", "2.5.1", "2.6.1"), companions=(rules,))))
    assert [str(cell.requires["torch"]) for cell in made] == ["<2.2,>=2.1", "==2.5.*", "==2.6.0"]
    assert all(cell.excluded is None for cell in made)


def test_a_version_without_a_companion_is_excluded_and_says_so():
    rules = companion("torch", "xla", {"<2.0": "1.13"})
    (cell,) = expand(matrix(stack("s", axis("xla", "2.1.0"), companions=(rules,))))
    assert cell.excluded == "no torch is paired with xla 2.1.0"


def test_exclusions_need_all_their_conditions_and_give_their_reason():
    rule = exclusion("no wheels", torch="<2.1", python=">=3.12")
    made = expand(matrix(stack("s", axis("torch", "2.0.1", "2.1.0"), python=("3.11", "3.12"), exclude=(rule,))))
    assert {cell.id: cell.excluded for cell in made if cell.excluded} == {"s-py3.12-torch2.0.1": "no wheels"}


def test_include_adds_whole_cells_once():
    extra = ({"python": "3.11", "torch": "2.2.0"}, {"python": "3.11", "torch": "2.1.0"})
    made = expand(matrix(stack("s", axis("torch", "2.1.0"), include=extra)))
    assert [cell.id for cell in made] == ["s-py3.11-torch2.1.0", "s-py3.11-torch2.2.0"]


def test_a_range_takes_the_versions_that_were_read():
    ranged = Axis(package="torch", versions=VersionRange(specifier=SpecifierSet(">=2")))
    made = expand(matrix(stack("s", ranged)), {("s", "torch"): versions("2.0", "2.1")})
    assert [str(cell.versions["torch"]) for cell in made] == ["2.0", "2.1"]


def test_too_many_cells_is_an_error_before_they_are_made():
    many = [f"{n}.0" for n in range(400)]
    with pytest.raises(ValueError, match=f"160000 cells, more than {MAX_CELLS}"):
        expand(matrix(stack("s", axis("a", *many), axis("b", *many))))


RELEASES = st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}(\.post[0-9])?(\+[a-z]{1,3}(\.[a-z0-9]{1,3})?)?", fullmatch=True)


@given(
    st.lists(RELEASES.map(Version), unique=True, max_size=12),
    st.lists(RELEASES.map(Version), unique=True, max_size=4),
)
def test_ids_are_unique_and_keep_to_their_alphabet(first, second):
    axes = (Axis(package="a", versions=tuple(first)), Axis(package="b_c", versions=tuple(second)))
    ids = [cell.id for cell in expand(matrix(stack("s", *axes)))]
    assert len(ids) == len(set(ids)) == len(first) * len(second)
    assert all(re.fullmatch(r"[a-z0-9._-]+", one) for one in ids)


def test_an_id_says_what_the_cell_is():
    assert cell_id("ipex-xpu", "3.11", {"ipex": Version("2.1.20+xpu")}) == "ipex-xpu-py3.11-ipex2.1.20-xpu"


SHA = "1a2b3c4d5e6f" + 28 * "0"
AO = companion("torch", "ao", {"==0.9": "2.5.0", ">=0.10,<0.13": "2.5.1", ">=0.13": "2.8.0"})


def at(version, *companions, before=None, **more):
    one = stack("s", axis("ao", "0.9"), companions=companions, **more)
    given = None if before is None else {"ao": Version(before)}
    return cell_at(one, "3.11", {"ao": Version(version)}, before=given)


def test_a_release_makes_the_cell_that_the_matrix_has():
    one = stack("s", axis("ao", "0.10.0"), axis("numpy", "1.26.4"), companions=(AO,), requirements=("rich",))
    (listed,) = expand(matrix(one))
    assert cell_at(one, "3.11", {"numpy": Version("1.26.4"), "ao": Version("0.10.0")}) == listed


@pytest.mark.parametrize(
    ("version", "torch"),
    [
        ("0.12.0.dev20250101+cpu", "==2.5.1"),
        ("0.13.0.dev20250601", "==2.8.0"),  # neither <0.13 nor >=0.13, as PEP 440 has it
        ("0.13.0.dev7+g1a2b3c4d5e6f", "==2.8.0"),
        ("0.9.dev3+g1a2b3c4d5e6f", "==2.5.0"),
        ("0.13.0.post1.dev2+g1a2b3c4d5e6f", "==2.8.0"),
    ],
)
def test_between_releases_a_companion_is_what_the_newer_one_requires(version, torch):
    cell = at(version, AO)
    assert cell.excluded is None
    assert str(cell.requires["torch"]) == torch


def test_a_pair_that_names_a_local_build_is_found_by_the_newer_release():
    pairs = companion("torch", "ao", {"==0.10.0+xpu": "2.6.0+xpu"})
    assert at("0.10.0.dev7+gab", pairs).excluded == "no torch is paired with ao 0.10.0.dev7+gab"
    assert str(at("0.10.0.dev7+gab", pairs, before="0.10.0+xpu").requires["torch"]) == "==2.6.0+xpu"


def test_what_excludes_the_newer_release_excludes_what_leads_up_to_it():
    rule = exclusion("no wheels", ao=">=0.13")
    assert at("0.13.0.dev7", exclude=(rule,)).excluded == "no wheels"
    assert at("0.12.0.dev7", exclude=(rule,)).excluded is None


def test_a_cell_of_a_commit_names_it():
    one = stack("s", axis("ao", "0.9"))
    version = Version("0.10.0.dev7+g1a2b3c4d5e6f")
    cell = cell_at(one, "3.11", {"ao": version}, commits={"ao": SHA})
    assert cell.id == "s-py3.11-ao0.10.0.dev7-g1a2b3c4d5e6f"
    assert (cell.versions, cell.commits) == ({"ao": version}, {"ao": SHA})
    assert str(cell.requires["ao"]) == f"=={version}"


@pytest.mark.parametrize(
    ("given", "built"), [({}, {}), ({"ao": "1", "torch": "2"}, {}), ({"ao": "1"}, {"torch": SHA})]
)
def test_a_cell_has_a_version_on_every_axis_and_no_other(given, built):
    versions = {name: Version(text) for name, text in given.items()}
    with pytest.raises(ValueError, match="stack s needs a version for each of ao and no other package"):
        cell_at(stack("s", axis("ao", "0.9")), "3.11", versions, commits=built)
