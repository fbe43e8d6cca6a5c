"""Shell commands that make the environment of one version and run the probes of an issue there."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from orchestrator.report.escape import is_web

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestrator.model import Pin
    from orchestrator.report.sides import Side

_END = "PINS"
"""Ends the list of pins; no pin can be this line, for each has an equals sign or begins with a dash or hash."""

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_WORD = re.compile(r"[^a-z]+")


def file_names(probes: Sequence[str]) -> Mapping[str, str]:
    """Return the file that each probe is to be saved as: its own name, numbered where two would be the same."""
    found: dict[str, str] = {}
    for probe in probes:
        name = f"{PurePosixPath(probe.partition('::')[0]).stem}_{probe.rpartition('::')[2]}"
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        taken = list(found.values())
        number = sum(file.startswith(plain) for file in taken)
        found[probe] = f"{plain}{f'_{number + 1}' if number else ''}.py"
    if len(found) == 1:
        return dict.fromkeys(found, "test_probe.py")
    return found


def script(side: Side, names: Mapping[str, str], subject: str | None, files: Sequence[str]) -> list[str]:
    """Return the lines of a POSIX shell script.

    Args:
        side: The version.
        names: By package, what it is called on an index.
        subject: The distribution whose version this is, if its name is known.
        files: The files of the probes, in the working directory.
    """
    directory = _WORD.sub("-", side.label)
    python = f"{directory}/bin/python"
    version = side.python if re.fullmatch(r"[0-9.]+", side.python) else "3"
    lines = [f"python{version} -m venv {directory}"]
    if side.pins:
        pins = list(_pins(side.pins, subject if _is_commit(side) else None))
        # Everything is named, so that nothing is left to be resolved.
        options = "--no-deps "
    else:
        lines.append("# What else was installed is not in the report: this is what was under test.")
        pins = list(_asked(side, names))
        options = ""
    lines += [f"{python} -m pip install {options}--requirement /dev/stdin <<'{_END}'", *pins, _END]
    if _is_commit(side):
        what = side.commit or side.point.version
        lines.append(f"# Then {subject or 'the package under test'}, built from its commit: {what}")
    lines.append(f"{python} -m pip install pytest")
    lines += [f"{python} -m pytest {file}" for file in files]
    return lines


def _is_commit(side: Side) -> bool:
    """Whether no index can have the version: it is named after a commit, as in 0.11.0.dev7+g1a2b3c4d5e6f."""
    version = side.point.version
    return side.commit is not None or (version.is_devrelease and (version.local or "").startswith("g"))


def _pins(pins: Sequence[Pin], built: str | None) -> Iterator[str]:
    indexes = dict.fromkeys(pin.index for pin in pins if pin.index is not None)
    for index in indexes:
        yield f"--extra-index-url {index}" if is_web(index) and " " not in index else f"# also from {index}"
    for pin in pins:
        if pin.name == built:
            yield f"# {pin.name}=={pin.version} was built from a commit"
        else:
            yield _pin(pin.name, pin.version)


def _asked(side: Side, names: Mapping[str, str]) -> Iterator[str]:
    for package, version in sorted(side.row.versions.items()) if side.row is not None else ():
        name = names.get(package)
        yield f"# {package} {version}: what indexes call it is not known" if name is None else _pin(name, version)


def _pin(name: str, version: str) -> str:
    """Return a pin, or a comment where the texts could be anything else."""
    exact = _NAME.fullmatch(name) and _VERSION.fullmatch(version)
    return f"{name}=={version}" if exact else f"# {name} {version}"
