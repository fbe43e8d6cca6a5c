"""Shards: disjoint, complete, of one kind of runner each, and where they were when a version is added."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import axis, companion, issue, matrix, stack
from orchestrator.errors import ConfigError
from orchestrator.matrix import Selection, Shard, assign, expand, parse_shard, select
from orchestrator.matrix.shards import group
from orchestrator.model import BaseImage, Device, Matrix, Stack
from orchestrator.versions import Version

EVERYTHING = Selection()
HOSTED = ("ubuntu-latest",)
GPU = ("self-hosted", "linux", "xpu")
PYTHONS = ("3.10", "3.11", "3.12")

minors = st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True).map(sorted)


@st.composite
def stacks(draw: st.DrawFn, name: str) -> Stack:
    """A stack of one or two axes, with or without a companion that several versions share."""
    axes = [axis("torch", *(f"2.{minor}" for minor in draw(minors)))]
    companions = ()
    if draw(st.booleans()):
        axes.append(axis("torchao", *(f"0.{minor}" for minor in draw(minors))))
    elif draw(st.booleans()):
        axes = [axis("torchao", *(f"0.{minor}" for minor in draw(minors)))]
        rules = {"<0.15": "2.5.1", ">=0.15,<0.25": "2.8.0"}  # from 0.25 on there is none: excluded
        companions = (companion("torch", "torchao", rules),)
    return stack(
        name,
        *axes,
        companions=companions,
        python=tuple(draw(st.lists(st.sampled_from(PYTHONS), min_size=1, unique=True))),
        device=draw(st.sampled_from(Device)),
        runner=draw(st.sampled_from([HOSTED, GPU, GPU[::-1], ("self-hosted", "linux")])),
    )


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    made = [draw(stacks(f"s{number}")) for number in range(draw(st.integers(1, 5)))]
    issues = tuple(
        issue(f"i{number}", {one.name: one.axes[0].package for one in made if draw(st.booleans())})
        for number in range(3)
    )
    bases = {python: BaseImage(python=python, image=f"python:{python}-slim", debian=None) for python in PYTHONS}
    return matrix(*made, issues=issues, bases=bases)


def chosen(made: Matrix, selection: Selection = EVERYTHING):
    return select(made, expand(made), selection)


def places(made: Matrix, count: int, selection: Selection = EVERYTHING) -> dict[str, int]:
    """Return the shard of every cell, by what the cell is and not by its id."""
    found = assign(made, chosen(made, selection), selection, count)
    return {
        f"{cell.stack} {cell.python} {sorted((n, str(v)) for n, v in cell.versions.items())}": index
        for index, cells in found.items()
        for cell in cells
    }


def kinds(made: Matrix) -> int:
    asked = {name for one in made.issues.values() for name in one.subjects}
    return len({frozenset(one.runner) for one in made.stacks.values() if one.name in asked})


@given(matrices(), st.integers(1, 300))
def test_shards_are_disjoint_complete_and_of_one_kind_of_runner(made, count):
    cells = chosen(made)
    if kinds(made) > count:
        with pytest.raises(ConfigError, match="kinds of runners"):
            assign(made, cells, EVERYTHING, count)
        return
    found = assign(made, cells, EVERYTHING, count)
    together = [cell for mine in found.values() for cell in mine]
    assert len(together) == len(cells)
    assert {cell.id for cell in together} == {cell.id for cell in cells}
    assert all(1 <= index <= count and mine for index, mine in found.items())
    for mine in found.values():
        assert len({frozenset(made.stacks[cell.stack].runner) for cell in mine}) == 1
        assert list(mine) == [cell for cell in cells if cell in mine]


@given(matrices(), st.integers(1, 300))
def test_cells_that_stand_on_the_same_stay_together(made, count):
    if kinds(made) > count:
        return
    found = assign(made, chosen(made), EVERYTHING, count)
    of_group: dict[tuple[frozenset[str], str], set[int]] = {}
    for index, mine in found.items():
        for cell in mine:
            key = frozenset(made.stacks[cell.stack].runner), group(made, cell)
            of_group.setdefault(key, set()).add(index)
    assert all(len(indices) == 1 for indices in of_group.values())


@given(matrices(), st.integers(4, 300), st.data())
def test_no_cell_moves_when_versions_are_added(made, count, data):
    before = places(made, count)
    name = data.draw(st.sampled_from(sorted(made.stacks)))
    grown = made.stacks[name]
    at = data.draw(st.integers(0, len(grown.axes) - 1))
    more = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=5))
    major = grown.axes[at].versions[0].major
    versions = {*grown.axes[at].versions, *(Version(f"{major}.{minor}") for minor in more)}
    axes = list(grown.axes)
    axes[at] = replace(axes[at], versions=tuple(sorted(versions)))
    after = places(replace(made, stacks={**made.stacks, name: replace(grown, axes=tuple(axes))}), count)
    assert before.items() <= after.items()


@given(matrices(), st.integers(4, 300))
def test_a_cell_is_where_it_is_whatever_else_is_selected(made, count):
    everywhere = places(made, count)
    for name in made.stacks:
        some = Selection(globs=(f"{name}-*",))
        assert places(made, count, some).items() <= everywhere.items()


def test_another_number_of_shards_spreads_cells_over_all_of_them():
    made = matrix(
        stack("s", axis("torch", *(f"2.{minor}" for minor in range(200)))), issues=(issue("i", {"s": "torch"}),)
    )
    for count in (1, 2, 7, 20):
        found = assign(made, chosen(made), EVERYTHING, count)
        assert set(found) == set(range(1, count + 1))
        # A hash deals about evenly: 200 cells are far from any of these bounds.
        assert max(map(len, found.values())) <= 3 * 200 / count


def test_cells_share_a_shard_with_those_whose_companion_is_their_axis():
    made = matrix(
        stack("torch-cpu", axis("torch", "2.5.1", "2.8.0")),
        stack(
            "ao-cpu",
            axis("torchao", "0.9", "0.12", "0.13"),
            companions=(companion("torch", "torchao", {"<0.13": "2.5.1", ">=0.13": "2.8.0"}),),
        ),
        issues=(issue("i", {"torch-cpu": "torch", "ao-cpu": "torchao"}),),
    )
    groups: dict[str, list[str]] = {}
    for cell in chosen(made):
        groups.setdefault(group(made, cell), []).append(cell.id)
    assert sorted(groups.values()) == [
        ["torch-cpu-py3.11-torch2.5.1", "ao-cpu-py3.11-torchao0.9", "ao-cpu-py3.11-torchao0.12"],
        ["torch-cpu-py3.11-torch2.8.0", "ao-cpu-py3.11-torchao0.13"],
    ]


def test_every_kind_of_runner_has_a_shard_and_the_rest_goes_by_stacks():
    names = ("a", "b", "c", "gpu")
    versions = [f"2.{minor}" for minor in range(100)]
    made = matrix(
        *(stack(name, axis("torch", *versions), runner=GPU if name == "gpu" else HOSTED) for name in names),
        issues=(issue("i", dict.fromkeys(names, "torch")),),
    )
    for count, gpu in ((2, {2}), (4, {4}), (10, {8, 9, 10})):
        found = assign(made, chosen(made), EVERYTHING, count)
        assert {index for index, mine in found.items() if mine[0].stack == "gpu"} == gpu
    only = Selection(stacks=("gpu",))
    assert set(assign(made, chosen(made, only), only, 1)) == {1}


def test_more_kinds_of_runners_than_shards_is_one_error():
    made = matrix(
        stack("cpu", axis("torch", "2.5")),
        stack("gpu", axis("torch", "2.5"), runner=GPU),
        issues=(issue("i", {"cpu": "torch", "gpu": "torch"}),),
    )
    with pytest.raises(ConfigError, match="need 2 kinds of runners, more than there can be in 1 shard") as caught:
        assign(made, chosen(made), EVERYTHING, 1)
    assert caught.value.hint == "allow more shards, or select fewer stacks with --stack"


def test_the_shard_of_a_cell_is_the_same_in_every_version_of_this_program():
    """Machines of one workflow may not all be upgraded at once, and stores are kept between runs."""
    made = matrix(stack("s", axis("torch", "2.1", "2.2", "2.3", "2.4")), issues=(issue("i", {"s": "torch"}),))
    found = assign(made, chosen(made), EVERYTHING, 5)
    by_index = {index: [str(cell.versions["torch"]) for cell in mine] for index, mine in found.items()}
    assert by_index == {1: ["2.1", "2.3"], 4: ["2.2"], 5: ["2.4"]}


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "-1/4", "1/0", "1 / 4", "a/b", "1/10000", "1/4\n"])
def test_what_is_no_shard(text):
    with pytest.raises(ValueError, match="is no shard: "):
        parse_shard(text)


def test_a_shard_is_written_as_it_is_read():
    shard = parse_shard("3/12")
    assert (shard, str(shard), shard.name) == (Shard(index=3, count=12), "3/12", "3-of-12")
