"""Forty-four releases of a small library for searches: what is true of each, and what a search has to answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wheelhouse import Wheelhouse

ROOT = Path(__file__).parents[2]

COUNT = 44
RELEASES = tuple(f"1.{minor}" for minor in range(COUNT))

UNRESOLVABLE = ("1.22", "1.24")
DIES_AT_IMPORT = ("1.23",)
UNTESTABLE = ("1.22", "1.23", "1.24")

BAD: Mapping[str, Iterable[int]] = {
    "regression": range(18, COUNT),
    "mended": range(6, 17),
    # One of its two releases is the first with the regression: whoever pins that down meets the island.
    "island": (17, 18),
    "never": (),
    "hidden": range(23, COUNT),
    # Its probe passes once, whatever the release.
    "unsteady": range(COUNT),
}
"""The minor versions that each issue affects."""

ANSWERS = {
    # issue: (state, [(kind, after, version, untested)])
    "regression": ("affected", [("introduced", "1.17", "1.18", [])]),
    "mended": ("ok", [("introduced", "1.5", "1.6", []), ("fixed", "1.16", "1.17", [])]),
    "island": ("ok", [("introduced", "1.16", "1.17", []), ("fixed", "1.18", "1.19", [])]),
    "never": ("ok", []),
    "hidden": ("affected", [("introduced", "1.21", "1.25", list(UNTESTABLE))]),
    "unsteady": ("affected", [("introduced", None, "1.0", [])]),
}

PASSING_RUN = 4
"""Which run of the unsteady probe passes, counted from 1 over all releases."""

# A file of its own for every run: two at the same moment never get the same number.
_UNSTEADY = """\
def unsteady():
    for number in range(1, 10_000):
        try:
            os.close(os.open(f"{counter}/{{number}}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        if number != {passing}:
            raise RuntimeError("nearly always")
        return
"""


def source(minor: int, counter: Path) -> str:
    """Return the code of release 1.`minor`; runs of the unsteady function are counted in a directory."""
    body = ["import os", f"__version__ = '1.{minor}'"]
    if f"1.{minor}" in DIES_AT_IMPORT:
        body.append("print('tinylib needs another engine'); os._exit(0)")
    for name, affected in BAD.items():
        if name != "unsteady":
            does = f"raise RuntimeError('{name} shows')" if minor in affected else "return 4"
            body.append(f"def {name}():\n    {does}\n")
    return "\n".join([*body, _UNSTEADY.format(counter=counter, passing=PASSING_RUN)])


def publish(house: Wheelhouse, counter: Path) -> None:
    """Put all releases on an index, a month apart."""
    counter.mkdir()
    for minor, version in enumerate(RELEASES):
        house.add(
            "tinylib",
            version,
            {"tinylib/__init__.py": source(minor, counter)},
            requires=("no-such-thing",) if version in UNRESOLVABLE else (),
            uploaded=f"{2021 + minor // 12}-{minor % 12 + 1:02}-01T00:00:00Z",
        )


def write_probes(directory: Path, module: str, names: Iterable[str]) -> None:
    """Write a probe package: a test of each function of a module."""
    directory.mkdir()
    tests = (f"def test_{name}():\n    import {module}\n    {module}.{name}()\n" for name in names)
    (directory / f"test_{module}.py").write_text("\n\n".join(tests), encoding="utf-8")


MATRIX = """\
version: 1
probes: probes
images: {{dockerfiles: {images}}}
indexes: {{{indexes}}}
bases: {{"3.11": {{image: "python:3.11-slim", debian: bookworm}}}}
limits: {{memory: 1GB, shm: 64MB}}
packages:
{packages}
stacks:
{stacks}
issues:
{issues}
"""


def matrix_text(
    *,
    indexes: Mapping[str, str],
    packages: Mapping[str, str],
    stacks: Mapping[str, str],
    issues: Mapping[str, str],
) -> str:
    """Return a matrix.yaml; packages, stacks and issues are given as flow mappings without their braces."""

    def section(entries: Mapping[str, str]) -> str:
        return "\n".join(f"  {name}: {{{text}}}" for name, text in entries.items())

    return MATRIX.format(
        images=ROOT / "images",
        indexes=", ".join(f'{name}: "{url}"' for name, url in indexes.items()),
        packages=section(packages),
        stacks=section(stacks),
        issues=section(issues),
    )


def write_project(
    directory: Path,
    module: str,
    names: Iterable[str],
    *,
    indexes: Mapping[str, str],
    packages: Mapping[str, str],
    stacks: Mapping[str, str],
    issues: Mapping[str, str],
) -> str:
    """Write a matrix, and a probe of each of `names`, below a directory; return the matrix."""
    write_probes(directory / "probes", module, names)
    text = matrix_text(indexes=indexes, packages=packages, stacks=stacks, issues=issues)
    (directory / "matrix.yaml").write_text(text, encoding="utf-8")
    return text


def environment(project: Path) -> dict[str, str]:
    """Return the environment variables of the program for a project; all projects of a session share a cache."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "UV_CACHE_DIR": str(project.parent / "uv")}


def program(*arguments: str) -> list[str]:
    """Return the command line of the program, in virtual environments unless a runtime is named."""
    runtime = () if "--runtime" in arguments else ("--runtime", "venv")
    return [sys.executable, "-m", "orchestrator", *arguments, *runtime]


def orchestrator(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        program(*arguments),
        cwd=cwd,
        env=environment(cwd),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def runs(store: Path) -> list[str]:
    """Return the cell of every attempt that a store has, sorted."""
    directory = store / "attempts"
    return sorted(one.name.rpartition("-")[0] for one in directory.iterdir()) if directory.is_dir() else []
