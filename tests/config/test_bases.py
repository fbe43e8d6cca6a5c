"""Bases with names and Dockerfiles, and the stacks and images that go with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.config import load
from orchestrator.errors import MatrixInvalidError
from orchestrator.matrix import expand
from orchestrator.model import BaseImage

BASES = """\
version: 1
packages: {torch: {}, ipex: {}}
bases:
  "3.11": {image: "python:3.11-slim", debian: bookworm}
  noble: {python: "3.12", image: "ubuntu:24.04", dockerfile: xpu.Dockerfile, arguments: {TRAIN: lts/2523}}
"""


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    (tmp_path / "probes").mkdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "xpu.Dockerfile").write_text("ARG BASE\nFROM ${BASE}\nARG TRAIN=rolling\n arg EXTRA\n")
    monkeypatch.chdir(tmp_path)


def loaded(text):
    Path("matrix.yaml").write_text(text)
    return load(Path("matrix.yaml"))


def wrong(text):
    with pytest.raises(MatrixInvalidError) as caught:
        loaded(text)
    return str(caught.value).replace("matrix.yaml:", "").splitlines()


def stack(body):
    return f"{BASES}stacks:\n  xpu:\n    device: xpu\n    axes: {{ipex: ['2.1', '2.3']}}\n    {body}\n"


def test_a_stack_names_its_base_and_gets_its_python():
    matrix = loaded(stack("base: noble"))
    image = BaseImage(
        python="3.12",
        image="ubuntu:24.04",
        debian=None,
        dockerfile="xpu.Dockerfile",
        arguments={"TRAIN": "lts/2523"},
    )
    cells = expand(matrix)
    assert {cell.python for cell in cells} == {"3.12"}
    assert all(matrix.base(cell) == image for cell in cells)
    assert image.title == "base of Python 3.12 with xpu.Dockerfile (TRAIN=lts/2523)"


def test_without_a_base_that_of_the_python_is_taken():
    matrix = loaded(stack("note: none"))
    assert {matrix.base(cell).image for cell in expand(matrix)} == {"python:3.11-slim"}


def test_the_first_prebuilt_image_that_fits_is_taken():
    matrix = loaded(
        stack("prebuilt: [{ipex: '<2.2', python: '3.11', image: one}, {ipex: '2.1', image: two}, {image: three}]")
    )
    images = [matrix.base(cell) for cell in expand(matrix)]
    assert [(image.image, image.python, image.prebuilt) for image in images] == [
        ("one", "3.11", True),
        ("three", "3.11", True),
    ]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("base: nobel", '10:11: stacks.xpu.base: there is no base "nobel"; did you mean "noble"?'),
        (
            "base: 3.11",
            '10:11: stacks.xpu.base: must be a string: write "3.11" (unquoted, YAML reads it as the number 3.11)',
        ),
        (
            "prebuilt: [{ipx: '2.1', image: a}]",
            '10:17: stacks.xpu.prebuilt.0.ipx: stack xpu has no axis "ipx"; did you mean "ipex"?',
        ),
        ("prebuilt: [{ipex: '2.1'}]", "10:16: stacks.xpu.prebuilt.0.image: missing"),
        (
            "prebuilt: [{image: a}, {image: b}]",
            "10:16: stacks.xpu.prebuilt.0: holds for every cell, so that no image after it is used:"
            " add a condition on an axis",
        ),
        (
            "include: [{ipex: '2.5', python: '3.13'}]",
            '10:37: stacks.xpu.include.0.python: there is no base "3.13"; did you mean "3.11"?',
        ),
    ],
)
def test_what_is_wrong_with_a_stack(body, said):
    assert wrong(stack(body)) == [said]


def test_a_stack_with_a_base_has_the_python_of_that():
    text = stack("base: noble").replace("axes: {", "axes: {python: ['3.12', '3.11'], ")
    assert wrong(text) == ['9:29: stacks.xpu.axes.python.1: the base "noble" has Python 3.12']


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("noble: {image: a}", ".noble.python: missing: noble is a name, and a base has one Python"),
        (
            '"3.12": {python: "3.11", image: a}',
            '."3.12".python: this is the base of Python 3.12: one with Python 3.11 needs a name of its own',
        ),
        (
            'Noble: {python: "3.12", image: a}',
            ".Noble: \"Noble\" is not a name: lowercase letters, digits and '-', at most 64",
        ),
        (
            'a: {python: "3.12", image: a, arguments: {TRAIN: x}}',
            ".a.arguments: has nothing to go to: add `dockerfile`",
        ),
        (
            'a: {python: "3.12", image: a, dockerfile: xpu.Dockerfil}',
            '.a.dockerfile: in "images" there is no file "xpu.Dockerfil"; did you mean "xpu.Dockerfile"?',
        ),
        (
            'a: {python: "3.12", image: a, dockerfile: ../x}',
            '.a.dockerfile: "../x" is not the name of a Dockerfile, like xpu.Dockerfile',
        ),
        (
            'a: {python: "3.12", image: a, dockerfile: xpu.Dockerfile, arguments: {TRIAN: x}}',
            '.a.arguments.TRIAN: xpu.Dockerfile has no ARG "TRIAN"; did you mean "TRAIN"?',
        ),
        (
            'a: {python: "3.12", image: a, dockerfile: xpu.Dockerfile, arguments: {BASE: x}}',
            '.a.arguments.BASE: "BASE" is given to every Dockerfile: choose another name',
        ),
        (
            'a: {python: "3.12", image: a, dockerfile: xpu.Dockerfile, arguments: {HTTPS_PROXY: x}}',
            '.a.arguments.HTTPS_PROXY: "HTTPS_PROXY" is given to every Dockerfile: choose another name',
        ),
        (
            'a: {python: "3.12", image: a, dockerfile: xpu.Dockerfile, arguments: {API_TOKEN: x}}',
            '.a.arguments.API_TOKEN: "API_TOKEN" looks like a secret:'
            " these values are written to results and logs",
        ),
    ],
)
def test_what_is_wrong_with_a_base(entry, said):
    text = f'version: 1\npackages: {{p: {{}}}}\nbases:\n  "3.11": {{image: a}}\n  {entry}\n'
    (line,) = wrong(f"{text}stacks: {{s: {{device: cpu, axes: {{p: ['1']}}}}}}\n")
    place, _, rest = line.partition(" bases")
    assert place.startswith("5:")
    assert rest == said


def test_a_file_without_a_base_for_a_python():
    text = "version: 1\npackages: {p: {}}\nbases: {noble: {python: '3.12', image: a}}\n"
    (line,) = wrong(f"{text}stacks: {{s: {{device: cpu, axes: {{p: ['1']}}}}}}\n")
    assert line == '4:10: stacks.s: the first of `bases` is "noble" and no Python: add `base`, or `axes.python`'
