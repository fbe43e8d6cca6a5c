"""What was measured is found again, whatever happened to the process that wrote it."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from orchestrator.errors import EnvironmentUnusableError, OrchestratorError
from orchestrator.model import Attempt, Fingerprint, Import, Origin, Outcome, ProbeResult
from orchestrator.results import Recorded, Store

if TYPE_CHECKING:
    from pathlib import Path

ENV, OTHER = "ab" * 32, "cd" * 32
A, B = "t.py::a", "t.py::b"
KEYS = {A: "1" * 64, B: "2" * 64}
TORCH = Import(package="torch", version="2.6.0", git_version="1eba9b3")


def made(*results: ProbeResult, attempt: str = "cell-1") -> Attempt:
    return Attempt(cell="cell", origin=origin(attempt), imports=(TORCH,), results=results)


def origin(attempt: str = "cell-1") -> Origin:
    return Origin(
        attempt=attempt,
        runtime="docker",
        base="sha256:abc",
        started=datetime(2026, 1, 2, tzinfo=UTC),
        duration=1.5,
        fingerprint=Fingerprint(device="a processor", driver=None, system="Linux 6.1 x86_64"),
    )


def recorded(*results: ProbeResult, attempt: str = "cell-1", imports: tuple[Import, ...] = (TORCH,)) -> Recorded:
    return Recorded(origin=origin(attempt), results={one.probe: one for one in results}, imports=imports)


def known(store: Store, keys: dict[str, str] = KEYS) -> set[str]:
    return {probe for one in store.lookup(ENV, keys) for probe in one.results}


def result(probe: str, outcome: Outcome = Outcome.PASS, **fields: object) -> ProbeResult:
    return ProbeResult(probe=probe, outcome=outcome, **fields)  # type: ignore[arg-type] # of mixed types


def lines(store: Store) -> Path:
    return store.root / "results" / ENV[:2] / f"{ENV}.jsonl"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_result_is_found_again_with_its_imports(store: Store) -> None:
    failed = result(A, Outcome.FAIL, signature="s", message="m", duration=0.5, metrics={"mae": float("inf")})
    store.record(ENV, KEYS, made(failed, result(B)))
    assert Store(store.root).lookup(ENV, KEYS) == (recorded(failed, result(B)),)
    assert store.lookup(ENV, {B: KEYS[B]}) == (recorded(result(B)),)


def test_another_environment_or_key_finds_nothing(store: Store) -> None:
    store.record(ENV, KEYS, made(result(A)))
    assert store.lookup(OTHER, KEYS) == ()
    assert store.lookup(ENV, {A: "3" * 64}) == ()
    assert store.lookup(ENV, {}) == ()


def test_every_result_of_a_key_is_found_the_oldest_first(store: Store) -> None:
    store.record(ENV, KEYS, made(result(A, Outcome.ERROR)))
    store.record(ENV, KEYS, made(result(A), attempt="cell-2"))
    assert store.lookup(ENV, KEYS) == (
        recorded(result(A, Outcome.ERROR)),
        recorded(result(A), attempt="cell-2"),
    )


def test_results_of_several_attempts_keep_their_own_imports(store: Store) -> None:
    older = dataclasses.replace(TORCH, version="2.5.0")
    probes = {f"t.py::p{number}": f"{number:064x}" for number in range(4)}
    for number, (probe, seen) in enumerate(zip(probes, [(TORCH,), (older,), (older, TORCH), ()], strict=True)):
        store.record(ENV, probes, dataclasses.replace(made(result(probe), attempt=f"cell-{number}"), imports=seen))
    found = store.lookup(ENV, probes)
    assert [one.imports for one in found] == [(TORCH,), (older,), (older, TORCH), ()]


@pytest.mark.parametrize("damaged", [[{"package": 7}], "torch", None])
def test_damage_costs_its_own_line_only(store: Store, damaged: object) -> None:
    store.record(ENV, KEYS, made(result(A)))
    store.record(ENV, KEYS, made(result(B), attempt="cell-2"))
    first, second = map(json.loads, lines(store).read_text().splitlines())
    lines(store).write_text("".join(json.dumps(one) + "\n" for one in (first | {"imports": damaged}, second)))
    assert store.lookup(ENV, KEYS) == (recorded(result(B), attempt="cell-2"),)


def test_a_damaged_result_costs_no_other(store: Store) -> None:
    store.record(ENV, KEYS, made(result(A), result(B)))
    line = json.loads(lines(store).read_text())
    line["results"][KEYS[A]]["outcome"] = "fine"
    lines(store).write_text(json.dumps(line) + "\n")
    assert store.lookup(ENV, KEYS) == (recorded(result(B)),)


def test_results_of_the_first_format_are_read(store: Store) -> None:
    """It had a line per result, and where they come from only in the attempt's own file."""
    store.record(ENV, KEYS, made(result(A), result(B, Outcome.FAIL)))
    line = json.loads(lines(store).read_text())
    attempt = store.attempt_directory("cell-1") / "attempt.json"
    old = {"id": "cell-1", "runtime": "docker", "base": "sha256:abc", "started": "2026-01-02T00:00:00Z"}
    attempt.write_text(json.dumps({"format": 1, "cell": "cell", **old, "duration": 1.5}))
    common = {"format": 1, "attempt": "cell-1", "imports": line["imports"]}
    written = [{**common, "key": key, "result": one} for key, one in line["results"].items()]
    lines(store).write_text("".join(json.dumps(one) + "\n" for one in written))
    (found,) = store.lookup(ENV, KEYS)
    assert found.results == {A: result(A), B: result(B, Outcome.FAIL)}
    assert (found.origin, found.imports) == (dataclasses.replace(origin(), fingerprint=None), (TORCH,))
    attempt.unlink()
    assert store.lookup(ENV, KEYS) == ()


def test_only_what_was_measured_is_kept(store: Store) -> None:
    results = {Outcome(outcome): result(f"t.py::{outcome}", outcome) for outcome in Outcome}
    keys = {one.probe: f"{number:064x}" for number, one in enumerate(results.values())}
    store.record(ENV, keys, made(*results.values()))
    (found,) = store.lookup(ENV, keys)
    assert {one.outcome for one in found.results.values()} == {outcome for outcome in Outcome if outcome.measured}


def test_an_attempt_is_kept_whole_and_read_back(store: Store) -> None:
    attempt = made(result(A, Outcome.INFRA), result(B))
    store.record(ENV, KEYS, attempt)
    assert store.read_attempt("cell-1") == attempt
    assert store.read_attempt("cell-9") is None
    assert (store.attempt_directory("cell-1") / "attempt.json").is_file()


def test_every_cut_of_the_last_line_costs_that_line_only(store: Store) -> None:
    store.record(ENV, KEYS, made(result(A)))
    second = lines(store).stat().st_size
    store.record(ENV, KEYS, made(result(B), attempt="cell-2"))
    whole = lines(store).read_bytes()
    for length in range(second, len(whole) - 1):
        lines(store).write_bytes(whole[:length])
        assert known(store) == {A}
    lines(store).write_bytes(whole[: len(whole) - 20])
    store.record(ENV, KEYS, made(result(B, Outcome.FAIL), attempt="cell-3"))
    assert lines(store).read_bytes().startswith(whole[:second] + b'{"format"')
    assert all(json.loads(line) for line in lines(store).read_bytes().splitlines())
    assert store.lookup(ENV, KEYS)[-1].results[B].outcome is Outcome.FAIL


def test_a_file_that_is_one_cut_line_is_repaired(store: Store) -> None:
    lines(store).parent.mkdir(parents=True)
    lines(store).write_bytes(b'{"format": 2, "origin": "' + b"x" * 200_000)
    store.record(ENV, KEYS, made(result(A)))
    assert lines(store).stat().st_size < 1000
    assert known(store) == {A}


def test_keys_of_a_later_program_are_ignored_and_nonsense_is_not_known(store: Store) -> None:
    store.record(ENV, KEYS, made(result(A)))
    line = json.loads(lines(store).read_text()) | {"colour": "green"}
    nonsense = [line | {"results": one} for one in (None, 7, [], {KEYS[B]: 7}, {KEYS[B]: {"probe": B}})]
    broken = ["[]", "null", "7", "\x00", *map(json.dumps, nonsense), json.dumps({"format": 1, "result": {}})]
    lines(store).write_text("\n".join([json.dumps(line), *broken, ""]))
    assert known(store) == {A}


def test_a_newer_format_is_refused(store: Store) -> None:
    store.record(ENV, KEYS, made(result(A)))
    lines(store).write_text('{"format": 3, "key": "x"}\n')
    with pytest.raises(OrchestratorError, match="format 3; this version reads up to 2") as caught:
        store.lookup(ENV, KEYS)
    assert caught.value.hint is not None
    attempt = store.attempt_directory("cell-1") / "attempt.json"
    attempt.write_text('{"format": 3}')
    with pytest.raises(OrchestratorError, match="format 3"):
        store.read_attempt("cell-1")


def test_the_store_is_marked_as_a_cache(store: Store) -> None:
    store.record(ENV, KEYS, made(result(A)))
    assert (store.root / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


@pytest.mark.parametrize("name", ["../etc", "/abs", "", ".hidden", "a/b", "a\nb", "x" * 300])
def test_no_name_leads_out_of_the_store(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="attempt id"):
        store.attempt_directory(name)
    with pytest.raises(ValueError, match="environment key"):
        store.lookup(name, KEYS)


def test_a_disk_that_does_not_take_it(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file stands where the store should be")
    with pytest.raises(EnvironmentUnusableError, match="cannot write results"):
        Store(tmp_path / "store").record(ENV, KEYS, made(result(A)))


def _write(root: Path, number: int) -> None:
    for round_ in range(20):
        probe = f"t.py::p{number}_{round_}"
        padded = result(probe, message="x" * 10_000)
        Store(root).record(ENV, {probe: f"{number:032x}{round_:032x}"}, made(padded, attempt=f"cell-{number}"))


def test_processes_that_write_at_once_lose_nothing(store: Store) -> None:
    processes = [
        multiprocessing.get_context("fork").Process(target=_write, args=(store.root, n)) for n in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    keys = {f"t.py::p{n}_{r}": f"{n:032x}{r:032x}" for n in range(4) for r in range(20)}
    assert known(store, keys) == set(keys)
