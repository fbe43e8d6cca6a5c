"""Shards and their merge over fakes of the world: the same answer as one run, whatever is in the way."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from orchestrator.errors import ConfigError, NothingSelectedError
from orchestrator.knowledge import survey
from orchestrator.matrix import Selection, Shard, pick
from orchestrator.measure import Options
from orchestrator.merge import merge
from orchestrator.model import Axis, News, Outcome, VersionRange
from orchestrator.part import MANIFEST, Part, read_part, write_part
from orchestrator.pinpoint.prior import STEADY, Prior
from orchestrator.pipeline import run
from orchestrator.report import render
from orchestrator.results import Store
from orchestrator.runs import names
from orchestrator.shard import run_shard
from orchestrator.versions import SpecifierSet, Version
from workbench import bench, since

VERSIONS = tuple(f"1.{minor}" for minor in range(12))
TRUTHS = {"a": since(4), "b": lambda version, _n: 2 <= version.minor < 6}
REFUSED = {"1.7": "no such wheel"}
COUNT = 4
"""With so many versions, each of so many shards has cells."""


@dataclass(frozen=True, kw_only=True)
class Shards:
    """What the shards of a small matrix left, each on a host of its own."""

    directories: tuple[Path, ...]
    store: Path

    def merge(self, *chosen: Path):
        return merge(chosen or self.directories, self.store)


def measured(directory: Path, index: int, count: int = COUNT, *, selection=None, prior=None) -> tuple[Part, Path]:
    """Measure a shard on a new host; return its part, and the directory that it left."""
    one = bench(directory / f"host-{index}-{count}", VERSIONS, TRUTHS, refused=REFUSED)
    options = Options(selection=selection or Selection())
    part = run_shard(one.shop, options, Shard(index=index, count=count), prior or Prior())
    target = directory / f"results-{index}-{count}"
    write_part(part, one.shop.store, target)
    return part, target


@pytest.fixture
def shards(tmp_path):
    return Shards(
        directories=tuple(measured(tmp_path, index)[1] for index in range(1, COUNT + 1)),
        store=tmp_path / "merged",
    )


def timeless(report) -> str:
    """Return a report as JSON without moments, and without the random part of attempts."""
    document = json.loads(render(report, "json"))
    document["run"]["started"] = None
    for cell in document["cells"]:
        if cell["measured"] is not None:
            cell["measured"]["started"] = None
    return re.sub(r"-[0-9a-f]{8}(?=\")", "-ATTEMPT", json.dumps(document, indent=1))


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def rewrite(directory: Path, **changes) -> None:
    """Change what a shard left at some keys, given as `a.b`."""
    path = directory / MANIFEST
    document = json.loads(path.read_text(encoding="utf-8"))
    for keys, value in changes.items():
        place = document
        *way, last = keys.split("__")
        for key in way:
            place = place[key]
        place[last] = value
    path.write_text(json.dumps(document), encoding="utf-8")


def test_shards_answer_like_one_run(tmp_path, shards):
    whole = bench(tmp_path / "whole", VERSIONS, TRUTHS, refused=REFUSED)
    one = run(whole.shop, Options(), None, Prior())
    merged = shards.merge()
    assert timeless(merged.report) == timeless(one)
    assert merged.missing == {}
    assert merged.new == len(VERSIONS) - len(REFUSED)
    assert [shard.index for shard in merged.shards] == [1, 2, 3, 4]
    for format_ in ("text", "markdown", "constraints"):
        told = [re.sub(r"started \S+ \S+ UTC", "", render(r, format_)) for r in (merged.report, one)]
        assert told[0] == told[1]


def test_a_shard_measures_its_own_cells_only(tmp_path):
    parts = [measured(tmp_path, index)[0] for index in range(1, COUNT + 1)]
    cells = [one.cell.id for part in parts for one in part.measured]
    assert len(cells) == len(set(cells)) == len(VERSIONS)
    assert all(part.measured for part in parts)


def test_the_order_does_not_matter(tmp_path, shards):
    """Neither for the report nor for any byte of the store."""
    stores = []
    for number, order in enumerate(itertools.permutations(shards.directories)):
        merge(order, tmp_path / f"order-{number}")
        stores.append(files(tmp_path / f"order-{number}"))
    assert all(store == stores[0] for store in stores)


def test_merging_again_changes_nothing(shards):
    first = shards.merge()
    before = files(shards.store)
    again = shards.merge(*shards.directories, shards.directories[0])
    assert (again.report, again.new) == (first.report, 0)
    assert files(shards.store) == before


def test_what_a_killed_merge_left_is_gone_on_with(shards):
    shards.merge()
    whole = files(shards.store)
    results = next(shards.store.rglob("*.jsonl"))
    lost = results.read_bytes()
    results.unlink()
    assert shards.merge().new == lost.count(b"\n")
    assert files(shards.store) == whole


def test_after_a_merge_nothing_is_left_to_be_measured(tmp_path, shards):
    shards.merge()
    host = bench(tmp_path / "host", VERSIONS, TRUTHS, refused=REFUSED)
    shutil.copytree(shards.store, host.shop.store.root, dirs_exist_ok=True)
    field = survey(host.shop, Selection(), host.cells)
    assert field.attempted == len(VERSIONS) - len(REFUSED)
    run(host.shop, Options(), None, Prior())
    assert host.runtime.runs == []


def test_a_missing_shard_is_told(shards):
    merged = shards.merge(*shards.directories[:1], *shards.directories[2:])
    lost = len(read_part(shards.directories[1]).measured)
    assert merged.missing == {2: lost}
    assert f"not merged: shard 2/4 with {lost} cells" in merged.report.notices
    outcomes = [row.outcome for row in merged.report.cells]
    assert outcomes.count(Outcome.NOT_RUN) == lost
    # With it, the run is the same one, and whole.
    whole = shards.merge()
    assert Outcome.NOT_RUN not in {row.outcome for row in whole.report.cells}
    assert len(names(shards.store)) == 1


def test_a_shard_without_cells_is_merged_like_any_other(tmp_path):
    parts = [measured(tmp_path, index, 40) for index in range(1, 41)]
    empty = [part for part, _ in parts if not part.measured]
    assert len(empty) >= 40 - len(VERSIONS)
    everyone = merge([directory for _, directory in parts], tmp_path / "everyone")
    busy = merge([directory for part, directory in parts if part.measured], tmp_path / "busy")
    assert everyone.missing == busy.missing == {}
    assert timeless(everyone.report) == timeless(busy.report)


def test_the_later_of_two_that_hold_the_same_shard_counts(tmp_path, shards):
    first = read_part(shards.directories[0])
    moment = first.provenance.started.isoformat().replace("2026", "2027").replace("+00:00", "Z")
    again = tmp_path / "again"
    shutil.copytree(shards.directories[0], again)
    document = json.loads((again / MANIFEST).read_text(encoding="utf-8"))
    document["provenance"]["started"] = moment
    cell = first.measured[0].cell.id
    for one in document["measured"]:
        if one["cell"]["id"] == cell:
            one["reason"] = "measured later"
    (again / MANIFEST).write_text(json.dumps(document), encoding="utf-8")
    for order in ([again, *shards.directories], [*shards.directories, again]):
        merged = merge(order, tmp_path / "both")
        (row,) = (row for row in merged.report.cells if row.cell == cell)
        assert row.reason == "measured later"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"provenance__matrix": "another"}, "is a shard of another matrix.yaml"),
        ({"probes": {"test_it.py": "0" * 64}}, "was measured with other probes"),
        ({"provenance__tool": "matrix-orchestrator 9"}, "was measured by another version of this program"),
        ({"selection__only": ["x"]}, "is of another selection of cells"),
        ({"shard__count": 5}, "is one of 5 shards, not of 4"),
        ({"prior__start": 0.25}, "was told something else of how often probes lie"),
    ],
)
def test_shards_that_do_not_belong_together_are_refused(shards, changes, why):
    rewrite(shards.directories[2], **changes)
    with pytest.raises(ConfigError, match=re.escape(f"{shards.directories[2]} does not belong with")) as caught:
        shards.merge()
    assert why in str(caught.value)
    assert not shards.store.exists()


def test_shards_that_were_told_another_prior_do_not_belong_together(tmp_path, shards):
    _, sure = measured(tmp_path, 1, prior=Prior(noise=STEADY))
    with pytest.raises(ConfigError, match="--flakes"):
        shards.merge(sure, shards.directories[1])


def test_what_is_no_shards_directory_is_refused(tmp_path, shards):
    for path in (tmp_path / "nothing", shards.directories[0] / MANIFEST):
        with pytest.raises(ConfigError, match=r"is no shard's directory: there is no shard\.json"):
            shards.merge(*shards.directories, path)
    with pytest.raises(ConfigError, match="there is nothing to merge"):
        merge((), shards.store)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": 2}', "has format 2, this version reads 1"),
        ('{"format": 1}', "cannot be read: not a valid Part"),
        ("{", "cannot be read: "),
        ("[]", "cannot be read: "),
        ("[" * 100_000, "cannot be read: "),
    ],
)
def test_a_damaged_manifest_is_one_error(shards, text, said):
    (shards.directories[1] / MANIFEST).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(said)):
        shards.merge()


def test_a_directory_that_was_copied_in_part_is_refused(shards):
    shutil.rmtree(shards.directories[1] / "attempts")
    shutil.rmtree(shards.directories[1] / "results")
    with pytest.raises(ConfigError, match="has nothing of attempt ") as caught:
        shards.merge()
    assert caught.value.hint == "the directory is not whole: copy it again"


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"attempts": ["../../etc"]}, "is no attempt id"), ({"environment": "../../etc"}, "is no environment key")],
)
def test_names_that_are_paths_are_refused(shards, changes, said):
    (first, *_) = json.loads((shards.directories[1] / MANIFEST).read_text(encoding="utf-8"))["records"]
    rewrite(shards.directories[1], records=[{**first, **changes}])
    with pytest.raises(ConfigError, match=said):
        shards.merge()
    assert not shards.store.exists()


def test_links_in_a_directory_are_not_followed(tmp_path, shards):
    secret = tmp_path / "secret"
    secret.write_text("of this host", encoding="utf-8")
    (attempt, *_) = sorted((shards.directories[0] / "attempts").iterdir())
    (attempt / "log.txt").symlink_to(secret)
    (attempt / "out").mkdir()
    (attempt / "out" / "junit.xml").symlink_to(secret)
    shards.merge()
    assert b"of this host" not in files(shards.store).values()


def test_logs_and_artifacts_come_along(tmp_path):
    one = bench(tmp_path / "host", VERSIONS[:1], TRUTHS)
    shard = Shard(index=1, count=1)
    part = run_shard(one.shop, Options(), shard, Prior())
    (attempt,) = (one.shop.store.root / "attempts").iterdir()
    (attempt / "out").mkdir()
    (attempt / "out" / "junit.xml").write_text("<testsuites/>", encoding="utf-8")
    (attempt / "out" / "left-by-a-probe").write_text("x", encoding="utf-8")
    (attempt / "log.txt").write_text("said", encoding="utf-8")
    write_part(part, one.shop.store, tmp_path / "results")
    merge([tmp_path / "results"], tmp_path / "store")
    merged = tmp_path / "store" / "attempts" / attempt.name
    assert sorted(path.name for path in merged.rglob("*") if path.is_file()) == [
        "attempt.json",
        "junit.xml",
        "log.txt",
    ]
    assert (merged / "log.txt").read_text(encoding="utf-8") == "said"


def test_attempts_whose_files_were_removed_are_restored_from_their_results(tmp_path):
    one = bench(tmp_path / "host", VERSIONS[:2], TRUTHS)
    shard = Shard(index=1, count=1)
    run_shard(one.shop, Options(), shard, Prior())
    shutil.rmtree(one.shop.store.root / "attempts")
    part = run_shard(one.shop, Options(), shard, Prior())
    assert len(one.runtime.runs) == 2
    write_part(part, one.shop.store, tmp_path / "results")
    assert merge([tmp_path / "results"], tmp_path / "store").new == 2
    (record, _) = part.records
    (name,) = record.attempts
    kept = Store(tmp_path / "store").read_attempt(name)
    assert kept is not None
    assert {r.probe for r in kept.results} == set(record.probes)


def test_a_shard_is_written_over_an_earlier_one_and_nothing_else(tmp_path):
    part, target = measured(tmp_path, 1)
    (target / "attempts" / "stray").mkdir()
    one = bench(tmp_path / "host-1-4", VERSIONS, TRUTHS, refused=REFUSED)
    write_part(part, one.shop.store, target)
    assert not (target / "attempts" / "stray").exists()
    assert read_part(target) == part
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x", encoding="utf-8")
    for place in (other, other / "thesis.tex"):
        with pytest.raises(ConfigError, match="is not empty and no shard's directory"):
            write_part(part, one.shop.store, place)
    assert (other / "thesis.tex").read_text(encoding="utf-8") == "x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["host-1-4", "other", "results-1-4"]


def test_nothing_selected_is_an_error_in_every_shard(tmp_path):
    with pytest.raises(NothingSelectedError):
        measured(tmp_path, 1, selection=Selection(globs=("nothing-*",)))


def test_hosts_that_differ_are_told(tmp_path, shards):
    part = read_part(shards.directories[1])
    document = json.loads((shards.directories[1] / MANIFEST).read_text(encoding="utf-8"))
    document["provenance"]["host"] = "Linux 6.8, 64 CPUs"
    for one in document["measured"]:
        if one["origin"] is not None:
            one["origin"]["fingerprint"]["device"] = "Another CPU"
    (shards.directories[1] / MANIFEST).write_text(json.dumps(document), encoding="utf-8")
    report = shards.merge().report
    assert report.provenance.host == f"{read_part(shards.directories[0]).provenance.host}; Linux 6.8, 64 CPUs"
    (notice,) = (text for text in report.notices if "hosts that differ" in text)
    assert notice.startswith("s was measured on hosts that differ: ")
    assert "Another CPU" in notice
    assert f"({sum(one.origin is not None for one in part.measured)} cells)" in notice


def test_a_merged_run_says_what_changed_since_the_one_before(tmp_path, shards):
    old = bench(tmp_path / "old", VERSIONS, {"a": since(9), "b": TRUTHS["b"]}, refused=REFUSED)
    from orchestrator.runs import save

    save(shards.store, run(old.shop, Options(), None, Prior()))
    # Hosts were made before: what is compared is what the names of the runs say.
    for directory in shards.directories:
        rewrite(directory, provenance__started="2099-01-01T00:00:00Z")
    for _ in range(2):
        changed = shards.merge().report.since
        assert changed is not None
        assert [(one.kind, one.issue) for one in changed.differences] == [(News.AFFECTED, "a")]
    assert len(names(shards.store)) == 2


class Index:
    """Offers some releases of every project."""

    def __init__(self, *versions: str) -> None:
        self.versions = versions

    def offered(self, _candidates, _distribution):
        return [Release(Version(version)) for version in self.versions]


@dataclass(frozen=True)
class Release:
    version: Version
    yanked: bool = False


def test_an_index_that_changed_while_shards_ran(tmp_path):
    """The release that only some shards saw is in the report, and that they saw different ones."""
    wanted = VersionRange(specifier=SpecifierSet(">=1.0"))
    directories = []
    for index in (1, 2):
        one = bench(tmp_path / f"host-{index}", VERSIONS[:4], TRUTHS)
        (stack,) = one.shop.matrix.stacks.values()
        ranged = replace(stack, axes=(Axis(package="lib", versions=wanted),))
        matrix = replace(one.shop.matrix, stacks={"s": ranged})
        one.resolver.pages = Index(*VERSIONS[: 4 if index == 1 else 6])
        part = run_shard(replace(one.shop, matrix=matrix), Options(), Shard(index=index, count=2), Prior())
        assert part.versions == {
            ("s", "lib"): pick([(v, False) for v in map(Version, one.resolver.pages.versions)], wanted)
        }
        directories.append(tmp_path / f"results-{index}")
        write_part(part, one.shop.store, directories[-1])
    merged = merge(directories, tmp_path / "store")
    assert [row.cell for row in merged.report.cells] == [f"s-py3.11-lib1.{minor}" for minor in range(6)]
    assert "the shards found different versions on the indexes: lib of s" in merged.report.notices
    known = {one.cell.id for directory in directories for one in read_part(directory).measured}
    lost = {row.cell for row in merged.report.cells if row.outcome is Outcome.NOT_RUN}
    assert lost == {row.cell for row in merged.report.cells} - known
