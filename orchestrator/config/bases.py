"""What no value tells alone about bases: their Pythons, their Dockerfiles, and the stacks that stand on them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orchestrator.config.places import shown

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.config.findings import Findings
    from orchestrator.config.places import Keys
    from orchestrator.config.schema import File, Stack

PYTHON = "python"
_IS_PYTHON = re.compile(r"3\.[0-9]{1,2}")
_ARG = re.compile(r"^\s*ARG\s+([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE | re.IGNORECASE)


def check_bases(findings: Findings, file: File, directory: Path) -> None:
    """Check every base of a file that stands in `directory`."""
    for name, base in file.bases.items():
        at: Keys = ("bases", name)
        if not _IS_PYTHON.fullmatch(name):
            if base.python is None:
                findings.add((*at, PYTHON), f"missing: {name} is a name, and a base has one Python")
        elif base.python is not None and base.python != name:
            message = f"this is the base of Python {name}: one with Python {base.python} needs a name of its own"
            findings.add((*at, PYTHON), message)
        if base.dockerfile is not None:
            _dockerfile(findings, at, directory / file.images.dockerfiles, base.dockerfile, base.arguments)
        elif base.arguments:
            findings.add((*at, "arguments"), "has nothing to go to: add `dockerfile`", of_key=True)


def _dockerfile(findings: Findings, at: Keys, directory: Path, name: str, arguments: dict[str, str]) -> None:
    """Check that a Dockerfile is there and takes its arguments: builders pass over those that it does not."""
    there = sorted(path.name for path in directory.glob("*Dockerfile*")) if directory.is_dir() else ()
    if not findings.known(name, there, (*at, "dockerfile"), f"in {shown(directory.name)} there is no file"):
        return
    try:
        text = (directory / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        findings.add((*at, "dockerfile"), f"{shown(name)} cannot be read: {error}")
        return
    taken = tuple(one for one in _ARG.findall(text) if one not in {"BASE", "STEP", "PYTHON"})
    for argument in arguments:
        findings.known(argument, taken, (*at, "arguments", argument), f"{name} has no ARG", of_key=True)


def check_pythons(findings: Findings, file: File, stack: str, value: Stack) -> None:
    """Check that there is a base for every Python of a stack: its own, or one of the Python's name."""
    at: Keys = ("stacks", stack)
    bases = findings.document.names("bases")
    if value.base is not None and not findings.known(value.base, bases, (*at, "base"), "there is no base"):
        return
    pythons: list[tuple[str, Keys]] = [
        (python, (*at, "axes", PYTHON, i)) for i, python in enumerate(value.axes.python or ())
    ]
    pythons += [
        (str(entry[PYTHON]), (*at, "include", i, PYTHON))
        for i, entry in enumerate(value.include)
        if PYTHON in entry
    ]
    if value.base is None:
        named = tuple(name for name in bases if _IS_PYTHON.fullmatch(name))
        for python, keys in pythons:
            findings.known(python, named, keys, "there is no base")
        if not pythons and not _IS_PYTHON.fullmatch(bases[0]):
            message = f"the first of `bases` is {shown(bases[0])} and no Python: add `base`, or `axes.python`"
            findings.add(at, message, of_key=True)
        return
    own = file.bases[value.base].python or value.base if value.base in file.bases else None
    for python, keys in pythons:
        if own is not None and python != own:
            findings.add(keys, f"the base {shown(value.base)} has Python {own}")
