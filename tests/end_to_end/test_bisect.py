"""`bisect`: one change, down to the nightly or the commit, and which package it takes."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import search_history as history
from bisections import answer, bisect, changes, write_releases
from gitproject import GitProject
from orchestrator.execute.runner import prepare_runner
from search_history import runs
from wheelhouse import Wheelhouse

GOOD, BAD = "def go():\n    return 4\n", "def go():\n    raise RuntimeError('broken')\n"

QUICK = ("--confidence", "0.8", "--confirm", "0")
"""Where the way to the answer is what is tested, not how sure it is."""


def cell(version: str) -> str:
    return f"tiny-py3.11-tinylib{version}"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return write_releases(tmp_path_factory.mktemp("bisect"))


def test_a_regression(project):
    code, text, stderr, found = bisect(project, "regression")
    assert code == 0, stderr
    assert changes(found) == [("introduced", "1.17", "1.18", [])]
    assert answer(stderr) == "regression was introduced in 1.18 (after 1.17), along tinylib"
    assert "every issue is answered at 95.0%, one change at most assumed" in text
    ran = Counter(runs(project / "store"))
    assert found["search"]["runs"] == ran.total()
    assert len(ran) < 13, "of the cells that can be tested"
    assert ran[cell("1.17")] >= 2
    assert ran[cell("1.18")] >= 2
    again = bisect(project, "regression")
    assert again[3]["result"] == found["result"]
    assert Counter(runs(project / "store")) == ran


def test_a_fix_between_versions_that_are_given(project):
    """They are believed: none of them is run, because the change lies beside none of them."""
    before = Counter(runs(project / "store"))
    code, text, stderr, found = bisect(project, "mended", "--find-fix", "--bad", "1.11", "--good", "1.21")
    assert code == 0, stderr
    assert answer(stderr) == "mended was fixed in 1.17 (after 1.16), along tinylib"
    assert ("fixed", "1.16", "1.17", []) in changes(found)
    ran = Counter(runs(project / "store")) - before
    assert not {cell("1.11"), cell("1.21")} & set(ran)
    assert set(found["result"]["cells"]) == {f"1.{minor}" for minor in range(11, 22)}
    assert "until then: RuntimeError: mended shows" in text


def test_versions_given_beside_the_change_are_run_once_even_without_confirmation(project):
    """What nobody ran is no answer, but it is no `no culprit` either."""
    code, _, stderr, found = bisect(
        project, "regression", "--good", "1.17", "--bad", "1.18", "--confirm", "0", store="beside"
    )
    assert code == 0, stderr
    assert answer(stderr) == "regression was introduced in 1.18 (after 1.17), along tinylib"
    assert changes(found) == [("introduced", "1.17", "1.18", [])]
    assert runs(project / "beside") == [cell("1.17"), cell("1.18")]


def test_a_version_that_is_given_wrongly(project):
    code, _, stderr, found = bisect(project, "regression", "--good", "1.19", "--bad", "1.20", store="beside")
    assert code == 2
    assert "regression shows in tinylib 1.19, which is given as good" in stderr
    assert "leave --good out" in stderr
    assert found == {}
    assert Counter(runs(project / "beside"))[cell("1.19")] == 2, "once may be a flake"


def test_a_release_that_the_axis_does_not_have_is_added(project):
    code, _, stderr, found = bisect(project, "mended", "--good", "1.4", "--bad", "1.12")
    assert code == 0, stderr
    assert changes(found) == [("introduced", "1.4", "1.10", [])]
    assert list(found["result"]["cells"]) == ["1.4", "1.10", "1.11", "1.12"]
    assert cell("1.4") in runs(project / "store")


def test_an_issue_that_never_shows_has_no_culprit(project):
    code, text, stderr, found = bisect(project, "never", "-k", "tinylib<1.14", "--confidence", "0.8")
    assert code == 0, stderr
    assert answer(stderr) == "no culprit: never was not introduced along tinylib; now ✓ ok"
    assert changes(found) == []
    assert "never seen" in text


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--good", "1.20", "--bad", "1.12"), "without --find-fix, the good version is the older one"),
        (("--find-fix", "--good", "1.12", "--bad", "1.20"), "with --find-fix, the bad one is older"),
    ],
)
def test_versions_in_the_wrong_order(project, options, hint):
    before = runs(project / "store")
    code, _, stderr, _ = bisect(project, "regression", *options)
    assert code == 2
    assert "tinylib 1.20 is not older than 1.12" in stderr
    assert hint in stderr
    assert runs(project / "store") == before


def test_an_issue_of_two_stacks_needs_to_be_told_which(project):
    code, _, stderr, _ = bisect(project, "both")
    assert code == 2
    assert "both is followed along 2 lines: tiny and other" in stderr
    assert "--stack NAME" in stderr
    # Its probe is that of the regression: in the other stack, the cells have the same wheels and are known.
    code, _, stderr, found = bisect(project, "both", "--stack", "other", "--confirm", "0", "--budget", "2cells")
    assert found["result"]["stack"] == "other"
    assert changes(found) == [("introduced", "1.17", "1.18", [])]


class TestCommits:
    """Twelve commits between two releases, of which two do not build."""

    @pytest.fixture
    def repository(self, tmp_path):
        project = GitProject(tmp_path / "repository").start()
        project.release("1.0")
        for number in range(1, 12):
            files = {"tiny/__init__.py": f"number = {number}\n" + (BAD if number >= 9 else GOOD)}
            if number == 5:
                files["recipe.py"] = "raise SystemExit('the compiler is unhappy')\n"
            elif number == 7:
                files["recipe.py"] = "\n"
            project.commit(f"change number {number}", files)
        project.release("1.1")
        return project

    @pytest.fixture
    def project(self, tmp_path, repository):
        house = Wheelhouse(tmp_path / "house")
        house.add("tiny", "1.0", {"tiny/__init__.py": GOOD}, uploaded="2024-03-01T14:00:00Z")
        house.add("tiny", "1.1", {"tiny/__init__.py": BAD}, uploaded="2024-03-03T00:00:00Z")
        history.write_project(
            tmp_path,
            "tiny",
            ["go"],
            indexes={"house": house.url},
            packages={"tiny": "indexes: {cpu: [house]}, versions: {git: repository}"},
            stacks={"s": 'device: cpu, axes: {tiny: ["1.0", "1.1"]}'},
            issues={"go": 'title: go, subject: {s: tiny}, probes: ["test_tiny.py::test_go"]'},
        )
        return tmp_path

    def test_the_answer_is_the_commit(self, project, repository):
        code, _, stderr, found = bisect(project, "go", "--no-commits", "--jobs", "1", *QUICK)
        assert changes(found) == [("introduced", "1.0", "1.1", [])], stderr
        assert not (project / "store" / "cache" / "sources").exists()
        releases = set(runs(project / "store"))
        assert releases == {"s-py3.11-tiny1.0", "s-py3.11-tiny1.1"}

        code, text, stderr, found = bisect(project, "go", "--jobs", "1", *QUICK)
        assert code == 0, stderr
        culprit = repository.git("rev-list", "--grep", "change number 9$", "main")
        (change,) = found["told"]["transitions"]
        assert change["commit"] == f"{culprit} of 2024-03-01: change number 9"
        assert f"commit: {culprit} of 2024-03-01: change number 9" in text
        ((_, after, version, untested),) = changes(found)
        before = repository.git("rev-list", "--grep", "change number 8$", "main")
        assert version.endswith(f"+g{culprit[:12]}")
        assert after.endswith(f"+g{before[:12]}")
        assert untested == []
        assert "there are 12 commits between tiny 1.0 and 1.1" in text

        # The way to it led past commits that do not build.
        outcomes = {version: point["outcome"] for version, point in found["result"]["cells"].items()}
        broken = {version for version, outcome in outcomes.items() if outcome == "unresolvable"}
        assert broken
        assert {version.partition(".dev")[2].partition("+")[0] for version in broken} <= {"5", "6"}
        assert "the compiler is unhappy" in text
        # A wheel was built of each commit that was run, and of no other.
        wheels = list((project / "store" / "cache" / "sources").rglob("*.whl"))
        assert len(wheels) == len(set(runs(project / "store")) - releases)
        assert len(wheels) < 10


def test_nightlies(tmp_path):
    house, nightly = Wheelhouse(tmp_path / "house"), Wheelhouse(tmp_path / "nightly")
    house.add("engine", "2.1.0", {"engine/__init__.py": GOOD}, uploaded="2024-01-10T00:00:00Z")
    house.add("engine", "2.2.0", {"engine/__init__.py": BAD}, uploaded="2024-02-10T00:00:00Z")
    for day in range(15, 24):
        version = f"2.2.0.dev202401{day}"
        code = BAD if day >= 20 else GOOD
        nightly.add("engine", version, {"engine/__init__.py": code}, yanked=day == 18)
    history.write_project(
        tmp_path,
        "engine",
        ["go"],
        indexes={"house": house.url, "nightly": nightly.url},
        packages={"engine": "indexes: {cpu: [house]}, versions: {nightlies: {cpu: [nightly]}}"},
        stacks={"s": 'device: cpu, axes: {engine: ["2.1.0", "2.2.0"]}'},
        issues={"go": 'title: go, subject: {s: engine}, probes: ["test_engine.py::test_go"]'},
    )
    code, text, stderr, found = bisect(tmp_path, "go", "--nightlies", *QUICK)
    assert code == 0, stderr
    assert changes(found) == [("introduced", "2.2.0.dev20240119", "2.2.0.dev20240120", [])]
    assert "2.2.0.dev20240118" not in found["result"]["cells"], "it was yanked"
    assert "there are 8 nightly builds between engine 2.1.0 and 2.2.0" in text
    assert answer(stderr) == "go was introduced in 2.2.0.dev20240120 (after 2.2.0.dev20240119), along engine"


class TestAttribution:
    """Between 1.0 and 1.1 of a library more moved than the library: which of it is to blame."""

    def cause(
        self, tmp_path, *, packages: tuple[str, ...] = ("lib", "dep"), companions: str = ""
    ) -> tuple[str, dict]:
        history.write_project(
            tmp_path,
            "lib",
            ["go"],
            indexes={"house": self.house.url},
            packages=dict.fromkeys(packages, "indexes: {cpu: [house]}"),
            stacks={"s": f'device: cpu, axes: {{lib: ["1.0", "1.1"]}}, companions: {{{companions}}}'},
            issues={"go": 'title: go, subject: {s: lib}, probes: ["test_lib.py::test_go"]'},
        )
        code, text, stderr, found = bisect(
            tmp_path, "go", "--good", "1.0", "--bad", "1.1", "--confirm", "0", "--jobs", "1"
        )
        assert code == 0, stderr
        (change,) = found["told"]["transitions"]
        return text, change

    @pytest.fixture(autouse=True)
    def _house(self, tmp_path):
        self.house = Wheelhouse(tmp_path / "house")

    def lib(self, code: str, *, needs: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        for minor, (requires, moment) in enumerate(zip(needs, ("2024-01-01", "2024-06-01"), strict=True)):
            files = {"lib/__init__.py": f"minor = {minor}\n{code}"}
            self.house.add("lib", f"1.{minor}", files, requires=requires, uploaded=f"{moment}T00:00:00Z")

    def dep(self, name: str = "dep", *, house: Wheelhouse | None = None) -> None:
        for version, moment in zip(("1.0", "2.0"), ("2023-01-01", "2024-05-05"), strict=True):
            files = {f"{name}/__init__.py": f"major = {version[0]}\n"}
            (house or self.house).add(name, version, files, uploaded=f"{moment}T00:00:00Z")

    def test_two_packages_together(self, tmp_path):
        self.lib(
            "def go():\n    import dep\n    if minor and dep.major == 2: raise RuntimeError('abi')\n",
            needs=(("dep",), ("dep",)),
        )
        self.dep()
        text, change = self.cause(
            tmp_path, companions='dep: {follows: lib, ranges: {"<1.1": "1.0", ">=1.1": "2.0"}}'
        )
        cause = change["cause"]
        assert (cause["kind"], set(cause["packages"])) == ("exact", {"lib", "dep"})
        assert cause["probability"] >= 0.95
        shown = {(frozenset(one["taken"]), one["fails"]) for one in cause["witnesses"]}
        assert shown == {
            (frozenset({"lib", "dep"}), True),
            (frozenset({"lib"}), False),
            (frozenset({"dep"}), False),
        }
        ran = set(runs(tmp_path / "store"))
        assert {name for one in cause["witnesses"] for name in one["cells"]} <= ran
        assert "it takes lib and dep together" in text

    def test_a_dependency_that_moved_by_itself(self, tmp_path, monkeypatch):
        """The library is the same: the answer is not the axis."""
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path.parent / "uv"))
        prepare_runner(tmp_path / "store" / "cache", "3.11")
        default = Wheelhouse(tmp_path / "default")
        monkeypatch.setenv("UV_DEFAULT_INDEX", default.url)
        self.lib(
            "def go():\n    import dep\n    if dep.major == 2: raise RuntimeError('moved')\n",
            needs=(("dep", "words"), ("dep", "words")),
        )
        self.dep(house=default)
        self.dep("words", house=default)
        text, change = self.cause(tmp_path, packages=("lib",))
        cause = change["cause"]
        assert (cause["kind"], cause["packages"]) == ("exact", ["dep"])
        assert set(cause["differing"]) == {"lib", "dep", "words"}
        shown = {(frozenset(one["taken"]), one["fails"]) for one in cause["witnesses"]}
        assert (frozenset({"dep"}), True) in shown
        assert "it takes dep (" in text

    def test_what_requires_the_other_exactly_is_one_unit(self, tmp_path):
        self.lib(
            "def go():\n    import dep\n    if dep.major == 2: raise RuntimeError('kernel')\n",
            needs=(("dep==1.0",), ("dep==2.0",)),
        )
        self.dep()
        _, change = self.cause(tmp_path)
        assert change["cause"] is None
        assert [moved["name"] for moved in change["moved"]] == ["dep"]
        assert set(runs(tmp_path / "store")) == {"s-py3.11-lib1.0", "s-py3.11-lib1.1"}, "no hybrid can be"

    def test_what_resolves_only_together_is_a_set(self, tmp_path):
        self.lib(
            "def go():\n    import dep\n    if dep.major == 2: raise RuntimeError('either')\n",
            needs=(("dep<2",), ("dep>=2",)),
        )
        self.dep()
        text, change = self.cause(tmp_path)
        cause = change["cause"]
        assert cause["kind"] == "set"
        assert set(cause["packages"]) == {"lib", "dep"}
        assert cause["witnesses"] == []
        assert cause["uninstallable"] == 2
        assert cause["cells"] == 0
        assert "no cell that can be installed separates them" in text
        assert not re.search(r"it takes (lib|dep)", text)
