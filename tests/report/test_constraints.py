from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

import lettered
from orchestrator.model import Report, Series, Verdict
from orchestrator.report import constraints, render
from orchestrator.versions import Version

VERSIONS = ("1.0", "1.1", "2.0rc1", "2.0", "2.0.post1", "2.1+cpu", "2.1+xpu", "3.0.dev20250101", "3.0")


def requirements(report: Report) -> dict[str, Requirement]:
    """Return what pip would read, which refuses a line that is no requirement."""
    lines = [line for line in constraints.render(report).splitlines() if line and not line.startswith("#")]
    return {one.name: one for one in map(Requirement, lines)}


def comments(*members: Series) -> str:
    return constraints.render(lettered.report(*members))


def lets_in(requirement: Requirement, version: Version) -> bool:
    return requirement.specifier.contains(version, prereleases=True)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Series, ...]:
    """Draw series of up to three issues in two stacks along one or two packages."""
    made = {}
    for _ in range(draw(st.integers(1, 6))):
        issue, stack, axis = (
            draw(st.sampled_from(names)) for names in (("i", "j", "k"), ("s", "t"), ("lib", "dep"))
        )
        versions = sorted(draw(st.lists(st.sampled_from(VERSIONS), min_size=1, unique=True)), key=Version)
        letters = [draw(st.sampled_from("gggbban")) for _ in versions]
        made[issue, stack] = lettered.series(
            "".join(letters), issue=issue, stack=stack, axis=axis, versions=versions
        )
    return tuple(made.values())


@given(histories())
def test_no_affected_version_is_let_in_and_no_good_one_kept_out(members: tuple[Series, ...]) -> None:
    found = requirements(lettered.report(*members))
    bad = {(s.axis, p.version) for s in members for p in s.points if p.verdict is Verdict.BAD}
    good = {(s.axis, p.version) for s in members for p in s.points if p.verdict is Verdict.GOOD} - bad
    assert set(found) == {axis for axis, _ in bad}
    for axis, version in bad:
        assert not lets_in(found[axis], version)
    for axis, version in good:
        # Without its local label a version stands for all of its builds.
        build = version.local is not None and (axis, Version(version.public)) in bad
        assert build or axis not in found or lets_in(found[axis], version)


def test_lines_of_a_real_matrix(report: Report) -> None:
    found = {name: str(one.specifier) for name, one in requirements(report).items()}
    assert set(found) == {"torch", "torchao", "torch-xla"}
    assert found["torch-xla"] == "!=2.5.1"
    assert "\ntorch!=2.0.1,!=2.1.0,!=2.1.2,<=2.5.1\n" in render(report, "constraints")


def test_a_package_goes_by_the_name_of_its_distribution() -> None:
    one = lettered.series("gb", axis="ipex", versions=["2.1.10+xpu", "2.1.20+xpu"])
    report = lettered.report(one, distributions={"ipex": "intel-extension-for-pytorch"})
    (line,) = requirements(report).values()
    assert str(line) == "intel-extension-for-pytorch<=2.1.10"


def test_a_package_of_unknown_name_is_told_and_not_constrained() -> None:
    report = lettered.report(lettered.series("b"), distributions={})
    assert requirements(report) == {}
    assert "# not kept out, for what indexes call lib is not known here: !=1.0\n" in constraints.render(report)


def test_the_last_good_version_is_the_newest_where_all_above_are_affected() -> None:
    told = comments(lettered.series("bgnbb"))
    assert "\nlib!=1.0,<=2.0\n" in told
    assert (
        "5.0, the newest version known, is affected too: the last good one is 2.0, and newer ones are kept" in told
    )
    assert "introduced in (2.0, 4.0] (3.0 untested)" in told
    assert "not known: 3.0" in told


def test_newer_versions_are_let_in_where_they_are_good_elsewhere() -> None:
    here = lettered.series("gb", stack="s")
    there = lettered.series("gbg", stack="t", issue="j")
    told = comments(here, there)
    assert "\nlib!=2.0\n" in told
    assert "newer ones are let in, for some are known to be ok elsewhere" in told


def test_newer_versions_are_let_in_where_none_is_known_to_be_good() -> None:
    told = comments(lettered.series("bb"))
    assert "\nlib!=1.0,!=2.0\n" in told
    assert "no version without it is known, and newer ones are let in" in told


def test_a_version_that_stacks_disagree_about_is_kept_out_and_told() -> None:
    told = comments(lettered.series("bg", stack="s"), lettered.series("gg", stack="t"))
    assert "\nlib!=1.0\n" in told
    assert "# kept out though one of these issues is ok there in another place: 1.0\n" in told


def test_nothing_to_keep_out() -> None:
    assert "No version is known to be affected.\n" in comments(lettered.series("ga"))


def test_titles_end_no_comment() -> None:
    report = lettered.report(lettered.series("b"))
    topic = replace(report.issues["i"], title="torch==9\nother==1 \\")
    told = render(replace(report, issues={"i": topic}), "constraints")
    assert "# i in s / lib: torch==9 other==1\n#" in told
    assert [line for line in told.splitlines() if line and not line.startswith("#")] == ["lib!=1.0"]
