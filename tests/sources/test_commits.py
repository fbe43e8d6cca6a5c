from __future__ import annotations

from datetime import timedelta
from threading import Event

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gitproject import START, GitProject
from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.model import Package
from orchestrator.sources import commits
from orchestrator.sources.commits import commit_version
from orchestrator.sources.git import GitError, run_git
from orchestrator.versions import Version


@pytest.fixture
def project(tmp_path):
    return GitProject(tmp_path / "project").start()


def package(git, **more):
    return Package(name="tiny", distribution="tiny", module="tiny", git=str(git), **more)


def between(project, tmp_path, after="1.0", before="1.1", **more):
    return commits(package(project.directory, **more), tmp_path / "cache", Version(after), Version(before))


def test_the_commits_up_to_the_newer_release_oldest_first(project, tmp_path):
    project.release("1.0")
    shas = [project.commit(f"change {number}") for number in range(3)]
    tagged = project.release("1.1")
    project.commit("later")
    found = between(project, tmp_path)
    assert [one.sha for one in found] == [*shas, tagged]
    assert [one.subject for one in found] == ["change 0", "change 1", "change 2", "release 1.1"]
    assert [str(one.version) for one in found] == [
        f"1.1.dev{number}+g{sha[:12]}" for number, sha in enumerate([*shas, tagged], 1)
    ]
    assert found[0].date == START + timedelta(hours=3)
    assert found[0].date.utcoffset() == timedelta(0)


def test_a_release_that_was_cut_on_a_branch_leaves_the_branch_point_to_be_tested(project, tmp_path):
    parting = project.commit("common")
    project.git("switch", "--quiet", "--create", "release-1.0")
    project.commit("a fix that was picked", {"tiny/fix.py": ""})
    project.release("1.0")
    project.git("switch", "--quiet", "main")
    after = project.commit("on the way to 1.1")
    project.git("switch", "--quiet", "--create", "release-1.1")
    tagged = project.release("1.1")
    found = between(project, tmp_path)
    assert [one.sha for one in found] == [parting, after, tagged]
    assert str(found[0].version) == f"1.1.dev0+g{parting[:12]}"


def test_a_merged_branch_is_one_commit(project, tmp_path):
    project.release("1.0")
    project.git("switch", "--quiet", "--create", "topic")
    project.commit("half")
    project.commit("whole")
    project.git("switch", "--quiet", "main")
    project.commit("meanwhile", {"other.txt": ""})
    project.made += 1
    project.git("merge", "--quiet", "--no-ff", "-m", "merge topic", "topic")
    project.release("1.1")
    assert [one.subject for one in between(project, tmp_path)] == ["meanwhile", "merge topic", "release 1.1"]


def test_nothing_lies_before_a_release_that_was_tagged_earlier(project, tmp_path):
    project.commit("one", tag="v1.1")
    project.release("1.0")
    assert between(project, tmp_path) == ()


def test_tags_are_found_by_the_pattern_of_the_package(project, tmp_path):
    project.commit("one", tag="rel/1.0")
    project.commit("two", tag="rel/1.1")
    found = between(project, tmp_path, "1.0+cpu", "1.1+cpu", tag="rel/{public}")
    assert [one.subject for one in found] == ["two"]


def test_a_missing_tag_is_named_with_the_key_that_says_how_tags_are_called(project, tmp_path):
    project.release("1.0")
    with pytest.raises(ConfigError, match=r"no tag v1\.1 for tiny 1\.1") as caught:
        between(project, tmp_path)
    assert "`tag` of package tiny ('v{version}')" in caught.value.hint


def test_a_branch_is_no_tag(project, tmp_path):
    project.release("1.0")
    project.git("branch", "v1.1")
    with pytest.raises(ConfigError, match=r"no tag v1\.1"):
        between(project, tmp_path)


def test_a_path_that_is_no_repository(project, tmp_path):
    project.release("1.0")
    (project.directory / "below").mkdir()
    for path in (tmp_path / "nowhere", project.directory / "below"):
        with pytest.raises(ConfigError, match="is no git repository"):
            commits(package(path), tmp_path / "cache", Version("1.0"), Version("1.1"))


def test_a_package_without_a_repository(tmp_path):
    one = Package(name="tiny", distribution="tiny", module="tiny")
    with pytest.raises(ConfigError, match="no repository with its commits") as caught:
        commits(one, tmp_path / "cache", Version("1.0"), Version("1.1"))
    assert "versions: {git: URL}" in caught.value.hint


@pytest.mark.parametrize(
    ("after", "before", "message"),
    [
        ("1.1", "1.0", "the second is not later"),
        ("1.0", "1.0+cpu", "the second is not later"),
        ("1.0", "1.1.dev20240101", "is a development build"),
    ],
)
def test_an_interval_without_room_is_refused(project, tmp_path, after, before, message):
    with pytest.raises(ConfigError, match=message):
        between(project, tmp_path, after, before)


def test_unrelated_histories(project, tmp_path):
    project.release("1.0")
    project.git("switch", "--quiet", "--orphan", "other")
    project.release("1.1")
    with pytest.raises(EnvironmentUnusableError, match="no common history"):
        between(project, tmp_path)


def test_no_git_program(project, tmp_path, monkeypatch):
    project.release("1.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentUnusableError, match="no git program") as caught:
        between(project, tmp_path)
    assert "install git" in caught.value.hint


def test_a_subject_cannot_steer_a_terminal(project, tmp_path):
    project.release("1.0")
    project.commit("red \x1b[31m\x1f and long " + "x" * 300)
    project.release("1.1")
    subject = between(project, tmp_path)[0].subject
    assert subject.isprintable()
    assert subject.startswith("red  [31m")
    assert len(subject) == 201


def test_the_environment_of_a_hook_points_nowhere_else(project, tmp_path, monkeypatch):
    project.release("1.0")
    project.release("1.1")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "elsewhere"))
    assert len(commits(package(project.directory), tmp_path / "cache", Version("1.0"), Version("1.1"))) == 1


class TestRemote:
    @pytest.fixture
    def served(self, project):
        project.git("config", "uploadpack.allowFilter", "true")
        project.git("config", "uploadpack.allowAnySHA1InWant", "true")
        project.release("1.0")
        project.commit("change")
        project.release("1.1")
        return project

    @staticmethod
    def between(served, tmp_path, after="1.0", before="1.1"):
        url = package(served.directory.as_uri())
        return commits(url, tmp_path / "cache", Version(after), Version(before))

    def test_a_mirror_tells_the_same_as_the_repository(self, served, tmp_path):
        assert self.between(served, tmp_path) == between(served, tmp_path)
        (mirror,) = (tmp_path / "cache" / "git").glob("tiny-*.git")
        lacking = run_git([f"--git-dir={mirror}", "rev-list", "--objects", "--all", "--missing=print"], timeout=60)
        assert "\n?" in lacking, "the contents of files are not fetched"
        assert not (mirror / "hooks").exists()

    def test_it_is_asked_again_only_for_a_tag_that_is_missing(self, served, tmp_path):
        found = self.between(served, tmp_path)
        served.release("1.2")
        assert len(self.between(served, tmp_path, "1.1", "1.2")) == 1
        served.directory.rename(tmp_path / "gone")
        assert self.between(served, tmp_path) == found
        with pytest.raises(EnvironmentUnusableError, match="cannot be used"):
            self.between(served, tmp_path, "1.2", "1.3")

    def test_a_repository_that_does_not_answer(self, tmp_path):
        one = package("http://127.0.0.1:9/none.git")
        with pytest.raises(EnvironmentUnusableError, match=r"127\.0\.0\.1:9/none\.git cannot be used"):
            commits(one, tmp_path / "cache", Version("1.0"), Version("1.1"))
        assert list((tmp_path / "cache" / "git").glob("*.git")) == []


def test_git_is_stopped(tmp_path):
    cancel = Event()
    cancel.set()
    alias = ["-c", "alias.rest=!sleep 60", "rest"]
    with pytest.raises(GitError, match="cancelled") as caught:
        run_git(alias, timeout=60, cancel=cancel)
    assert caught.value.stopped
    with pytest.raises(GitError, match="not done after 0 s"):
        run_git(alias, timeout=0.3)


VERSIONS = st.from_regex(r"[0-9]\.[0-9](\.[0-9])?((a|b|rc)[0-9])?(\.post[0-9])?(\+[a-z]{1,3})?", fullmatch=True)


@given(VERSIONS.map(Version), VERSIONS.map(Version), st.integers(0, 5000))
def test_versions_of_commits_sort_between_the_releases_in_the_order_of_the_history(one, other, position):
    after, before = sorted((one, other))
    assume(Version(after.public) < Version(before.public))
    made = [commit_version(after, before, number, "ab12" * 10) for number in (position, position + 1)]
    assert after < made[0] < made[1] < before
    assert made[0].local == "gab12ab12ab12"
