from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.model import Moved, Package, Transition
from orchestrator.pinpoint import series
from orchestrator.pinpoint.evidence import compare_link
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import Matrix
    from orchestrator.pinpoint import Measured


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("v{version}", "v2.1.10+xpu...v2.3.110+xpu"),
        ("v{public}", "v2.1.10...v2.3.110"),
        ("release/{version.__class__}", "release/%7Bversion.__class__%7D...release/%7Bversion.__class__%7D"),
    ],
)
def test_compare_link_follows_the_tag_pattern(tag: str, expected: str) -> None:
    package = Package(
        name="ipex", distribution="ipex", module="ipex", repository="https://example.org/ipex/", tag=tag
    )
    tags = [package.release_tag(Version(text)) for text in ("2.1.10+xpu", "2.3.110+xpu")]
    link = compare_link(package, *tags)
    assert link == f"https://example.org/ipex/compare/{expected}"


def test_no_compare_link_without_a_repository(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    cells = [measured("g", {"lib": "1"}), measured("b", {"lib": "2"})]
    (found,) = series(matrix({"lib": ["1", "2"]}, repository=None), cells)
    assert found.transitions[0].compare is None


@pytest.fixture
def introduced(matrix: Callable[..., Matrix], measured: Callable[..., Measured]) -> Transition:
    old = {"lib": "1", "mate": "7", "numpy": "1.26", "gone": "3", "same": "1"}
    new = {"lib": "2", "mate": "8", "numpy": "2.0", "added": "4", "same": "1"}
    cells = [
        measured("g", {"lib": "1"}, locked=old, git="aaaa"),
        measured("?", {"lib": "1.5"}),
        measured("b", {"lib": "2"}, locked=new, git="bbbb"),
    ]
    (found,) = series(matrix({"lib": ["1", "1.5", "2"]}, companion="mate"), cells)
    return found.transitions[0]


def test_packages_under_test_that_moved_are_the_culprit_the_subject_first(introduced: Transition) -> None:
    assert introduced.culprit == ("lib", "mate")


def test_everything_else_that_moved_is_named_in_order(introduced: Transition) -> None:
    assert introduced.moved == (
        Moved(name="added", before=None, after="4"),
        Moved(name="gone", before="3", after=None),
        Moved(name="numpy", before="1.26", after="2.0"),
    )


def test_link_and_commits_are_those_of_the_two_known_versions(introduced: Transition) -> None:
    assert introduced.compare == "https://example.org/lib/compare/v1...v2"
    assert introduced.git_versions == ("aaaa", "bbbb")


def test_a_companion_that_stays_is_no_culprit(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    cells = [
        measured("g", {"lib": "1"}, locked={"lib": "1", "mate": "7"}),
        measured("b", {"lib": "2"}, locked={"lib": "2", "mate": "7"}),
    ]
    (found,) = series(matrix({"lib": ["1", "2"]}, companion="mate"), cells)
    assert found.transitions[0].culprit == ("lib",)


@pytest.mark.parametrize(("wanted", "culprit"), [("==7", ("lib",)), ("==8", ("lib", "mate"))])
def test_without_locks_what_was_asked_for_decides(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured], wanted: str, culprit: tuple[str, ...]
) -> None:
    cells = [
        measured("g", {"lib": "1"}, requires={"mate": "==7"}),
        measured("b", {"lib": "2"}, requires={"mate": wanted}),
    ]
    (found,) = series(matrix({"lib": ["1", "2"]}, companion="mate"), cells)
    assert found.transitions[0].culprit == culprit
    assert found.transitions[0].moved == ()


def test_nothing_is_claimed_where_no_earlier_version_is_known(
    matrix: Callable[..., Matrix], measured: Callable[..., Measured]
) -> None:
    cell = measured("b", {"lib": "1"}, locked={"lib": "1"}, git="aaaa")
    (found,) = series(matrix({"lib": ["1", "2"]}), [cell])
    (since,) = found.transitions
    assert (since.compare, since.culprit, since.moved, since.git_versions) == (None, (), (), (None, "aaaa"))
